// SPDX-License-Identifier: GPL-2.0-or-later
//
// An independent implementation, libgssrpc of MIT Kerberos: its client calls MOUNT of a server with a key table, over
// TCP, and its server answers Calls of an Initiator, over UDP.
#include <gssapi/gssapi_krb5.h>
#include <gssrpc/auth_gss.h>
#include <gssrpc/rpc.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "replay/gss/initiator.h"
#include "replay/rpcrdma/tcp_rpc.h"
#include "replay/serve/gss_service.h"
#include "replay/serve/nfs_memory.h"

namespace stag::gss {
namespace {

// The results of MNT (RFC 1813 appendix I), as far as they matter here.
struct Mounted {
  u_int status = 0, length = 0, flavors = 0, first = 0, second = 0;
  char* handle = nullptr;
};
bool_t TakeMounted(XDR* xdr, Mounted* mounted) {
  return xdr_u_int(xdr, &mounted->status) && xdr_bytes(xdr, &mounted->handle, &mounted->length, 64) &&
         xdr_u_int(xdr, &mounted->flavors) && xdr_u_int(xdr, &mounted->first) && xdr_u_int(xdr, &mounted->second);
}

template <typename Coder>
xdrproc_t Procedure(Coder* coder) {
  return reinterpret_cast<xdrproc_t>(reinterpret_cast<void*>(coder));
}

TEST(Interop, ClientOfMitKerberos) {
  constexpr u_int kMount = 100005, kVersion = 3, kMnt = 1;
  const char* const keytab = std::getenv("STAG_KEYTAB");
  ASSERT_NE(keytab, nullptr) << "runs in a realm: with_realm.py";
  ::setenv("KRB5_CLIENT_KTNAME", keytab, 1);
  ::setenv("KRB5CCNAME", "MEMORY:interop", 1);

  serve::MemoryFs fs{1 << 20};
  const auto mount = serve::MakeMountService(fs);
  auto credentials = OpenAcceptor(keytab);
  ASSERT_TRUE(credentials) << credentials.error().message;
  Acceptor acceptor(*credentials);
  serve::GssService service(*mount, acceptor);
  const auto server = std::move(*rpcrdma::TcpRpc::Listen({"127.0.0.1", 0}, service));
  std::atomic<bool> stop = false;
  std::thread serving([&] {
    while (!stop) {
      server->Poll();
      std::this_thread::yield();
    }
  });

  for (const rpc_gss_svc_t protection : {RPCSEC_GSS_SVC_NONE, RPCSEC_GSS_SVC_INTEGRITY, RPCSEC_GSS_SVC_PRIVACY}) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server->port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int socket = RPC_ANYSOCK;
    CLIENT* const client = clnttcp_create(&to, kMount, kVersion, &socket, 0, 0);
    ASSERT_NE(client, nullptr);
    rpc_gss_sec how{};
    how.mech = const_cast<gss_OID>(gss_mech_krb5);
    how.svc = protection;
    how.cred = GSS_C_NO_CREDENTIAL;
    how.req_flags = GSS_C_MUTUAL_FLAG;
    char name[] = "nfs@localhost", root[] = "/";
    AUTH* const auth = authgss_create_default(client, name, &how);
    ASSERT_NE(auth, nullptr);
    client->cl_auth = auth;
    Mounted mounted;
    char* path = root;
    const timeval patience{20, 0};
    for (int i = 0; i < 3; ++i) {
      mounted = {};
      const clnt_stat status =
          clnt_call(client, kMnt, Procedure(xdr_wrapstring), &path, Procedure(TakeMounted), &mounted, patience);
      EXPECT_EQ(status, RPC_SUCCESS) << protection;
      EXPECT_EQ(mounted.status, 0u);
      EXPECT_GT(mounted.length, 0u);
      EXPECT_EQ(mounted.flavors, 2u);
      std::free(mounted.handle);
    }
    AUTH_DESTROY(auth);
    clnt_destroy(client);
  }
  stop = true;
  serving.join();
}

// Its server: procedure 1 returns the word that it gets.
constexpr u_int kProgram = 0x20000199, kVersion = 1, kSame = 1;
void Dispatch(svc_req* request, SVCXPRT* transport) {
  u_int word = 0;
  if (request->rq_proc == 0) {
    svc_sendreply(transport, Procedure(xdr_void), nullptr);
  } else if (!svc_getargs(transport, Procedure(xdr_u_int), &word)) {
    svcerr_decode(transport);
  } else {
    svc_sendreply(transport, Procedure(xdr_u_int), reinterpret_cast<char*>(&word));
  }
}

// Sends a Call, and gives the Reply; nothing when none comes.
Buffer Ask(int socket, const Buffer& call) {
  EXPECT_EQ(::send(socket, call.data(), call.size(), 0), static_cast<ssize_t>(call.size()));
  pollfd wait{socket, POLLIN, 0};
  Buffer reply(8192);
  if (::poll(&wait, 1, 20'000) != 1) return {};
  const ssize_t n = ::recv(socket, reply.data(), reply.size(), 0);
  reply.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return reply;
}

TEST(Interop, ServerOfMitKerberos) {
  const char* const keytab = std::getenv("STAG_KEYTAB");
  ASSERT_NE(keytab, nullptr) << "runs in a realm: with_realm.py";
  ::setenv("KRB5_KTNAME", keytab, 1);
  const int served = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(served, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::getsockname(served, reinterpret_cast<sockaddr*>(&at), &size), 0);
  OM_uint32 minor = 0;
  char text[] = "nfs@localhost";
  gss_buffer_desc named{sizeof text - 1, text};
  gss_name_t name = GSS_C_NO_NAME;
  ASSERT_EQ(gss_import_name(&minor, &named, GSS_C_NT_HOSTBASED_SERVICE, &name), GSS_S_COMPLETE);
  ASSERT_TRUE(svcauth_gss_set_svc_name(name));
  SVCXPRT* const transport = svcudp_create(served);
  ASSERT_NE(transport, nullptr);
  ASSERT_TRUE(svc_register(transport, kProgram, kVersion, Dispatch, 0));
  std::atomic<bool> stop = false;
  std::thread serving([&] {
    while (!stop) {
      fd_set ready = svc_fdset;
      timeval wait{0, 1000};
      if (::select(FD_SETSIZE, &ready, nullptr, nullptr, &wait) > 0) svc_getreqset(&ready);
    }
  });

  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  auto credentials = OpenInitiator({keytab, "", "nfs@localhost"});
  ASSERT_TRUE(credentials) << credentials.error().message;
  uint32_t xid = 0;
  const auto to = [&xid](uint32_t procedure) { return Target{++xid, kProgram, kVersion, procedure}; };
  const Buffer word(4, std::byte{0x5a});
  for (const rpc::GssService service : {rpc::kGssNone, rpc::kGssIntegrity, rpc::kGssPrivacy}) {
    // That server takes the service from the context's creation, where it has no meaning.
    Initiator client(**credentials);
    const auto created = client.Created(Ask(socket, *client.Create(to(0), {0, service})));
    EXPECT_TRUE(created) << created.error().message;
    EXPECT_TRUE(client.established());
    if (!created) break;
    for (int i = 0; i < 3; ++i) {
      const Protection protection{client.NextSequence(), service};
      const auto results = client.Results(Ask(socket, *client.Call(to(kSame), protection, word)), protection);
      EXPECT_TRUE(results) << results.error().message;
      EXPECT_EQ(results.value_or(Buffer{}), word);
    }
    Buffer call = *client.Header(to(0), rpc::kGssData, {client.NextSequence(), service});
    call.back() ^= std::byte{1};  // of the verifier
    const Buffer denied = Ask(socket, call);
    const rpc::ReplyHeader header = rpc::DecodeReply(denied, denied.size());
    EXPECT_EQ(header.reply_stat, rpc::kDenied);
    EXPECT_EQ(header.auth_stat, rpc::kGssCredProblem);
    const Protection last{client.NextSequence(), rpc::kGssNone};  // without results
    EXPECT_TRUE(client.Results(Ask(socket, *client.Destroy(to(0), last)), last));
  }
  ::close(socket);
  stop = true;
  serving.join();
  svc_destroy(transport);
  gss_release_name(&minor, &name);
}

}  // namespace
}  // namespace stag::gss
