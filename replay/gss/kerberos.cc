// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/gss/kerberos.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string_view>
#include <type_traits>

namespace stag::gss {
namespace {

// libgssapi_krb5, loaded where there is use for it: a start of stag takes as long as the libraries do that it names.
struct Library {
  decltype(&::gss_accept_sec_context) accept_sec_context = nullptr;
  decltype(&::gss_acquire_cred_from) acquire_cred_from = nullptr;
  decltype(&::gss_delete_sec_context) delete_sec_context = nullptr;
  decltype(&::gss_display_status) display_status = nullptr;
  decltype(&::gss_get_mic) get_mic = nullptr;
  decltype(&::gss_import_name) import_name = nullptr;
  decltype(&::gss_init_sec_context) init_sec_context = nullptr;
  decltype(&::gss_release_buffer) release_buffer = nullptr;
  decltype(&::gss_release_cred) release_cred = nullptr;
  decltype(&::gss_release_name) release_name = nullptr;
  decltype(&::gss_unwrap) unwrap = nullptr;
  decltype(&::gss_verify_mic) verify_mic = nullptr;
  decltype(&::gss_wrap) wrap = nullptr;
  const gss_OID* kerberos = nullptr;
  const gss_OID* hostbased_service = nullptr;
  const gss_OID* principal_name = nullptr;
  std::string trouble;  // empty: all of it is there
};

Library Load() {
  Library library;
  void* const module = ::dlopen("libgssapi_krb5.so.2", RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](const char* name, auto& at) {
    void* const symbol = module ? ::dlsym(module, name) : nullptr;
    at = reinterpret_cast<std::remove_reference_t<decltype(at)>>(symbol);
    if (symbol || !library.trouble.empty()) return;
    const char* const why = ::dlerror();
    library.trouble =
        fmt::format("Kerberos needs libgssapi_krb5 (Debian: the package libgssapi-krb5-2): {}", why ? why : name);
  };
  find("gss_accept_sec_context", library.accept_sec_context);
  find("gss_acquire_cred_from", library.acquire_cred_from);
  find("gss_delete_sec_context", library.delete_sec_context);
  find("gss_display_status", library.display_status);
  find("gss_get_mic", library.get_mic);
  find("gss_import_name", library.import_name);
  find("gss_init_sec_context", library.init_sec_context);
  find("gss_release_buffer", library.release_buffer);
  find("gss_release_cred", library.release_cred);
  find("gss_release_name", library.release_name);
  find("gss_unwrap", library.unwrap);
  find("gss_verify_mic", library.verify_mic);
  find("gss_wrap", library.wrap);
  find("gss_mech_krb5", library.kerberos);
  find("GSS_C_NT_HOSTBASED_SERVICE", library.hostbased_service);
  find("GSS_KRB5_NT_PRINCIPAL_NAME", library.principal_name);
  return library;
}

const Library& Gss() {
  static const Library library = Load();
  return library;
}

gss_buffer_desc Of(Bytes bytes) {
  return {bytes.size(), const_cast<void*>(static_cast<const void*>(bytes.data()))};  // the library only reads it
}

// A buffer of the library's.
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    OM_uint32 minor = 0;
    Gss().release_buffer(&minor, &buffer_);
  }
  gss_buffer_t get() { return &buffer_; }
  Buffer copy() const {
    const auto* at = static_cast<const std::byte*>(buffer_.value);
    return {at, at + buffer_.length};
  }
  std::string_view text() const { return {static_cast<const char*>(buffer_.value), buffer_.length}; }

 private:
  gss_buffer_desc buffer_ = GSS_C_EMPTY_BUFFER;
};

// What the mechanism says, or GSS-API where that says nothing.
std::string TroubleText(OM_uint32 major, OM_uint32 minor) {
  OM_uint32 ignored = 0, more = 0;
  Owned text;
  const bool mechanism = minor != 0;
  Gss().display_status(&ignored, mechanism ? minor : major, mechanism ? GSS_C_MECH_CODE : GSS_C_GSS_CODE,
                       *Gss().kerberos, &more, text.get());
  return std::string(text.text());
}

class Name {
 public:
  Name() = default;
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;
  ~Name() {
    OM_uint32 minor = 0;
    if (name_) Gss().release_name(&minor, &name_);
  }
  Result<void> Import(std::string_view text, gss_OID type) {
    gss_buffer_desc buffer = Of(std::as_bytes(std::span(text)));
    OM_uint32 minor = 0;
    const OM_uint32 major = Gss().import_name(&minor, &buffer, type, &name_);
    if (GSS_ERROR(major)) return Fail(fmt::format("{} is no name: {}", text, TroubleText(major, minor)));
    return {};
  }
  gss_name_t get() const { return name_; }

 private:
  gss_name_t name_ = GSS_C_NO_NAME;
};

class KerberosContext final : public Context {
 public:
  // `target`: of an initiator. Both outlive it.
  KerberosContext(gss_cred_id_t credentials, const Name* target) : credentials_(credentials), target_(target) {}
  ~KerberosContext() override {
    OM_uint32 minor = 0;
    if (context_) Gss().delete_sec_context(&minor, &context_, GSS_C_NO_BUFFER);
  }
  bool established() const override { return established_; }

  // Neither replays nor the order are looked at: RPCSEC_GSS does that itself (RFC 2203 section 5.2.2).
  Result<Buffer> Step(Bytes token) override {
    gss_buffer_desc in = Of(token);
    Owned out;
    OM_uint32 minor = 0;
    const OM_uint32 major =
        target_ ? Gss().init_sec_context(&minor, credentials_, &context_, target_->get(), *Gss().kerberos,
                                         GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG | GSS_C_CONF_FLAG, 0,
                                         GSS_C_NO_CHANNEL_BINDINGS, &in, nullptr, out.get(), nullptr, nullptr)
                : Gss().accept_sec_context(&minor, &context_, credentials_, &in, GSS_C_NO_CHANNEL_BINDINGS, nullptr,
                                           nullptr, out.get(), nullptr, nullptr, nullptr);
    if (GSS_ERROR(major)) return Fail(TroubleText(major, minor));
    established_ = major == GSS_S_COMPLETE;
    return out.copy();
  }

  Result<Buffer> Mic(Bytes message) override {
    gss_buffer_desc in = Of(message);
    Owned out;
    OM_uint32 minor = 0;
    const OM_uint32 major = Gss().get_mic(&minor, context_, GSS_C_QOP_DEFAULT, &in, out.get());
    if (major != GSS_S_COMPLETE) return Fail(TroubleText(major, minor));
    return out.copy();
  }

  bool Verify(Bytes message, Bytes mic) override {
    gss_buffer_desc in = Of(message), token = Of(mic);
    OM_uint32 minor = 0;
    return Gss().verify_mic(&minor, context_, &in, &token, nullptr) == GSS_S_COMPLETE;
  }

  Result<Buffer> Wrap(Bytes message) override {
    gss_buffer_desc in = Of(message);
    Owned out;
    OM_uint32 minor = 0;
    int encrypted = 0;
    const OM_uint32 major = Gss().wrap(&minor, context_, 1, GSS_C_QOP_DEFAULT, &in, &encrypted, out.get());
    if (major != GSS_S_COMPLETE) return Fail(TroubleText(major, minor));
    if (!encrypted) return Fail("the mechanism does not encrypt");
    return out.copy();
  }

  std::optional<Buffer> Unwrap(Bytes wrapped) override {
    gss_buffer_desc in = Of(wrapped);
    Owned out;
    OM_uint32 minor = 0;
    int encrypted = 0;
    const OM_uint32 major = Gss().unwrap(&minor, context_, &in, out.get(), &encrypted, nullptr);
    if (major != GSS_S_COMPLETE || !encrypted) return {};
    return out.copy();
  }

 private:
  gss_cred_id_t credentials_;
  const Name* target_;
  gss_ctx_id_t context_ = GSS_C_NO_CONTEXT;
  bool established_ = false;
};

class KerberosCredentials final : public Credentials {
 public:
  ~KerberosCredentials() override {
    OM_uint32 minor = 0;
    if (credentials_) Gss().release_cred(&minor, &credentials_);
  }
  std::unique_ptr<Context> NewContext() override {
    return std::make_unique<KerberosContext>(credentials_, initiator_ ? &target_ : nullptr);
  }

  Result<void> OpenInitiator(const InitiatorOptions& options) {
    static std::atomic<unsigned> number = 0;
    initiator_ = true;
    Name principal;
    if (!options.principal.empty())
      if (auto imported = principal.Import(options.principal, *Gss().principal_name); !imported) return imported;
    if (auto imported = target_.Import(options.service, *Gss().hostbased_service); !imported) return imported;
    const std::string keytab = "FILE:" + options.keytab;
    const std::string cache = fmt::format("MEMORY:stag-{}-{}", ::getpid(), ++number);
    gss_key_value_element_desc elements[] = {{"client_keytab", keytab.c_str()}, {"ccache", cache.c_str()}};
    return Acquire(principal.get(), GSS_C_INITIATE, {2, elements});
  }
  Result<void> OpenAcceptor(const std::string& path) {
    const std::string keytab = "FILE:" + path;
    gss_key_value_element_desc element = {"keytab", keytab.c_str()};
    return Acquire(GSS_C_NO_NAME, GSS_C_ACCEPT, {1, &element});
  }

 private:
  Result<void> Acquire(gss_name_t name, gss_cred_usage_t usage, const gss_key_value_set_desc& store) {
    gss_OID_set_desc mechanisms = {1, *Gss().kerberos};
    OM_uint32 minor = 0;
    const OM_uint32 major = Gss().acquire_cred_from(&minor, name, GSS_C_INDEFINITE, &mechanisms, usage, &store,
                                                    &credentials_, nullptr, nullptr);
    if (GSS_ERROR(major)) return Fail(TroubleText(major, minor));
    return {};
  }

  bool initiator_ = false;
  Name target_;
  gss_cred_id_t credentials_ = GSS_C_NO_CREDENTIAL;
};

// The library is there; and the file, of which the library says only that there are no keys.
Result<void> CanOpen(const std::string& keytab) {
  if (!Gss().trouble.empty()) return Fail(Gss().trouble);
  if (!std::ifstream(keytab)) return Fail("it cannot be read");
  return {};
}

}  // namespace

Result<std::shared_ptr<Credentials>> OpenInitiator(const InitiatorOptions& options) {
  auto credentials = std::make_shared<KerberosCredentials>();
  Result<void> opened =
      CanOpen(options.keytab).and_then([&]() -> Result<void> { return credentials->OpenInitiator(options); });
  if (opened) {
    const auto token = credentials->NewContext()->Step({});
    if (!token) opened = tl::unexpected(token.error());
  }
  if (!opened)
    return Fail(fmt::format("no ticket for {} by the key table {}: {}", options.service, options.keytab,
                            opened.error().message));
  return credentials;
}

Result<std::shared_ptr<Credentials>> OpenAcceptor(const std::string& keytab) {
  auto credentials = std::make_shared<KerberosCredentials>();
  const Result<void> opened =
      CanOpen(keytab).and_then([&]() -> Result<void> { return credentials->OpenAcceptor(keytab); });
  if (!opened) return Fail(fmt::format("the key table {}: {}", keytab, opened.error().message));
  return credentials;
}

}  // namespace stag::gss
