// SPDX-License-Identifier: GPL-2.0-or-later
//
// Replays a fuzz target's corpus (files, or folders of files) without libFuzzer, so that every target is built and run
// by ordinary builds. Fails when a path does not exist or there was nothing to replay.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {
void Replay(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}
}  // namespace

int main(int argc, char** argv) {
  size_t replayed = 0;
  for (int i = 1; i < argc; ++i) {
    std::filesystem::path path(argv[i]);
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
        if (entry.is_regular_file()) Replay(entry.path()), ++replayed;
    } else if (std::filesystem::exists(path)) {
      Replay(path), ++replayed;
    } else {
      std::fprintf(stderr, "no such file: %s\n", argv[i]);
      return 1;
    }
  }
  std::printf("%zu inputs replayed\n", replayed);
  return replayed == 0;
}
