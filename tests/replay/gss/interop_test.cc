// SPDX-License-Identifier: GPL-2.0-or-later
//
// An independent client, libgssrpc of MIT Kerberos, calls MOUNT over TCP from a server with a key table.
#include <gssapi/gssapi_krb5.h>
#include <gssrpc/auth_gss.h>
#include <gssrpc/rpc.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "replay/gss/kerberos.h"
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

}  // namespace
}  // namespace stag::gss
