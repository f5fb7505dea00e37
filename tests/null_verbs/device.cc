// SPDX-License-Identifier: GPL-2.0-or-later
//
// What libibverbs gives programs: one device, null0.
#include "tests/null_verbs/device.h"

#include <arpa/inet.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/null_verbs/works.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace stag::null_verbs {
namespace {

// What this process has made.
struct Own {
  std::mutex mutex;
  std::map<uint32_t, NullQueue*> queues;
  std::map<uint32_t, NullPair*> pairs;
  std::vector<NullContext*> contexts;
};
Own& Mine() {
  static Own& own = *new Own;  // threads may outlive main
  return own;
}

template <typename T>
T* Make() {
  return static_cast<T*>(std::calloc(1, sizeof(T)));
}

template <typename Object>
void AwaitAcknowledgements(const Object& object) {
  while (object.acknowledged.load() != object.events) ::sched_yield();
}

ibv_device* Device() {
  static ibv_device device = [] {
    ibv_device d{};
    d.node_type = IBV_NODE_CA;
    d.transport_type = IBV_TRANSPORT_IB;
    std::strcpy(d.name, "null0");
    std::strcpy(d.dev_name, "null0");
    std::strcpy(d.dev_path, "/sys/class/infiniband_verbs/null0");
    std::strcpy(d.ibdev_path, "/sys/class/infiniband/null0");
    return d;
  }();
  return &device;
}

// ------------------------------------------------------------------------------------------------------------- windows

uint32_t MakeRegion(uint32_t domain, bool window) {
  Shared& fabric = Fabric();
  const std::lock_guard lock(fabric.lock);
  const uint32_t index = TakeEntry(fabric.regions, fabric.last_region);
  Region& region = fabric.regions[index];
  // Another key each time, so that an old handle is invalid.
  region.handle = index << 8 | ((region.handle + 1) & 0xff);
  region.domain = domain;
  region.pid = Self();
  region.window = window;
  region.windows = 0;
  return index;
}

void DropRegion(uint32_t index) {
  Region& region = Fabric().regions[index];
  if (Invalidate(region) && region.window) Fabric().regions[region.region].windows.fetch_sub(1);
  const std::lock_guard lock(Fabric().lock);
  region.taken = false;
}

ibv_mw* AllocWindow(ibv_pd* pd, ibv_mw_type type) {
  if (type != IBV_MW_TYPE_2) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ibv_mw* const mw = Make<ibv_mw>();
  mw->context = pd->context;
  mw->pd = pd;
  mw->type = type;
  mw->handle = MakeRegion(DomainOf(pd), true);
  mw->rkey = Fabric().regions[mw->handle].handle;
  return mw;
}

int DeallocWindow(ibv_mw* mw) {
  DropRegion(mw->handle);
  std::free(mw);
  return 0;
}

int BindWindow(ibv_qp*, ibv_mw*, ibv_mw_bind*) { return EOPNOTSUPP; }  // of type 1

// --------------------------------------------------------------------------------------------------------- completions

// What waits for something that only time brings.
void LookAgain(uint32_t index) {
  const std::lock_guard lock(Mine().mutex);
  for (const auto& [number, own] : Mine().pairs)
    if (own->pair->send_queue == index && own->pair->waiting.load() != Waiting::kNo) Advance(*own->pair, true);
}

int PollQueue(ibv_cq* cq, int count, ibv_wc* wc) {
  const uint32_t index = Of(cq).index;
  Queue& queue = QueueAt(index);
  if (queue.head.load(std::memory_order_relaxed) == queue.tail.load(std::memory_order_acquire)) {
    if (queue.stalled.load(std::memory_order_relaxed) == 0) return 0;
    LookAgain(index);
  }
  const std::lock_guard lock(queue.taking);
  uint64_t head = queue.head.load(std::memory_order_relaxed);
  const uint64_t tail = queue.tail.load(std::memory_order_acquire);
  const Done* const entries = At<Done>(queue.entries);
  int n = 0;
  for (; n < count && head != tail; ++n, ++head) {
    const Done& done = entries[head % queue.capacity];
    wc[n] = done.wc;
    Pair& pair = PairOf(done.pair);
    if (done.retires > 0 && pair.number.load(std::memory_order_relaxed) == done.pair)
      pair.retired.store(done.retires, std::memory_order_relaxed);
  }
  queue.head.store(head, std::memory_order_release);
  return n;
}

int ArmQueue(ibv_cq* cq, int solicited_only) {
  QueueAt(Of(cq).index).armed.store(solicited_only ? 2 : 1);
  return 0;
}

// -------------------------------------------------------------------------------------------------------------- device

int QueryPort(ibv_context*, uint8_t port, ibv_port_attr* out, size_t size) {
  if (port != 1) return EINVAL;
  ibv_port_attr attr{};
  attr.state = IBV_PORT_ACTIVE;
  attr.max_mtu = attr.active_mtu = IBV_MTU_4096;
  attr.gid_tbl_len = attr.pkey_tbl_len = 1;
  attr.max_msg_sz = 1u << 31;
  attr.phys_state = 5;  // LinkUp
  attr.link_layer = IBV_LINK_LAYER_ETHERNET;
  std::memcpy(out, &attr, std::min(size, sizeof attr));
  return 0;
}

NullContext* OpenContext() {
  NullContext* const context = Make<NullContext>();
  ibv_context& c = context->verbs.context;
  c.device = Device();
  c.ops.alloc_mw = AllocWindow;
  c.ops.bind_mw = BindWindow;
  c.ops.dealloc_mw = DeallocWindow;
  c.ops.poll_cq = PollQueue;
  c.ops.req_notify_cq = ArmQueue;
  c.ops.post_send = PostSend;
  c.ops.post_recv = PostReceive;
  c.cmd_fd = -1;
  c.async_fd = MakeMailbox(context->mailbox);
  c.num_comp_vectors = 1;
  c.abi_compat = __VERBS_ABI_IS_EXTENDED;
  (void)::pthread_mutex_init(&c.mutex, nullptr);
  context->verbs.sz = sizeof(verbs_context);
  context->verbs.query_port = QueryPort;
  const std::lock_guard lock(Mine().mutex);
  Mine().contexts.push_back(context);
  return context;
}

// A queue pair of the fabric, in the state RESET.
Pair& TakePair(ibv_pd& pd, const ibv_qp_init_attr& init) {
  const ibv_qp_cap& cap = init.cap;
  const uint32_t send_pieces = std::max(cap.max_send_sge, 1u), receive_pieces = std::max(cap.max_recv_sge, 1u);
  const auto send_stride = static_cast<uint32_t>(
      (sizeof(Request) + std::max<size_t>(send_pieces * sizeof(ibv_sge), cap.max_inline_data) + 63) / 64 * 64);
  const auto receive_stride = static_cast<uint32_t>(sizeof(Receive) + (receive_pieces - 1) * sizeof(ibv_sge));
  const uint32_t max_sends = std::max(cap.max_send_wr, 1u), max_receives = std::max(cap.max_recv_wr, 1u);
  const uint64_t sends = Allocate(uint64_t{max_sends} * send_stride);
  const uint64_t receives = Allocate(uint64_t{max_receives} * receive_stride);
  Shared& fabric = Fabric();
  const std::lock_guard lock(fabric.lock);
  const uint32_t index = TakeEntry(fabric.pairs, fabric.last_pair);
  Pair& pair = fabric.pairs[index];
  const std::lock_guard taking(pair.taking);
  pair.send_stride = send_stride;
  pair.receive_stride = receive_stride;
  pair.sends = sends;
  pair.receives = receives;
  pair.pid = Self();
  pair.domain = DomainOf(&pd);
  pair.signal_all = init.sq_sig_all != 0;
  pair.send_queue = Of(init.send_cq).index;
  pair.receive_queue = Of(init.recv_cq).index;
  pair.max_sends = max_sends;
  pair.max_receives = max_receives;
  pair.send_pieces = send_pieces;
  pair.receive_pieces = receive_pieces;
  pair.inline_room = cap.max_inline_data;
  pair.rnr_retries = pair.reads_served = 0;
  pair.device = Of(pd.context).mailbox;
  pair.state = IBV_QPS_RESET;
  pair.peer = kNobody;
  pair.waiting = Waiting::kNo;
  pair.posted = pair.first = pair.last = 0;
  pair.tries = 0;
  pair.deadline = 0;
  pair.retired = 0;
  pair.taken_receives = pair.given_receives = 0;
  pair.taken_seen = 0;
  // 24 bits: the low ones are the index, the others differ from those of what had it before.
  static_assert(kPairs == 1u << 10);
  pair.number = (++fabric.pair_generation % 0x3fff + 1) * kPairs + index;
  return pair;
}

void Put(Pair& pair, ibv_qp& qp, ibv_qp_state state) {
  pair.state = state;
  qp.state = state;
}

}  // namespace

ibv_context* ManagerContext() {
  static ibv_context* const context = &OpenContext()->verbs.context;
  return context;
}

void ConnectPair(ibv_qp* qp, uint32_t peer, uint32_t rnr_retries, uint32_t reads_served) {
  Pair& pair = *Of(qp).pair;
  pair.rnr_retries = rnr_retries;
  pair.reads_served = reads_served;
  pair.peer = peer;
  Put(pair, *qp, IBV_QPS_RTS);
  if (PairOf(peer).waiting.load() == Waiting::kForPeer) Advance(PairOf(peer), false);
}

void StopPair(ibv_qp* qp) {
  qp->state = IBV_QPS_ERR;
  BreakPair(*Of(qp).pair);
}

void RemoveDevice() {
  {
    const std::lock_guard lock(Mine().mutex);
    for (const auto& [number, own] : Mine().pairs) BreakPair(*own->pair);
    for (const NullContext* const context : Mine().contexts) Post(context->mailbox, {IBV_EVENT_DEVICE_FATAL, 0});
  }
  ReportRemoval();
}

}  // namespace stag::null_verbs

// ------------------------------------------------------------------------------------------------------- as libibverbs

using namespace stag::null_verbs;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  if (count) *count = 1;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers
  ibv_device** const list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  list[0] = Device();
  return list;
}
void ibv_free_device_list(ibv_device** list) { std::free(list); }
const char* ibv_get_device_name(ibv_device* device) { return device->name; }
__be64 ibv_get_device_guid(ibv_device*) { return 0x0100000000000002; }

ibv_context* ibv_open_device(ibv_device*) { return &OpenContext()->verbs.context; }
int ibv_close_device(ibv_context* context) {
  NullContext& own = Of(context);
  {
    const std::lock_guard lock(Mine().mutex);
    std::erase(Mine().contexts, &own);
  }
  (void)::close(context->async_fd);
  std::free(&own);
  return 0;
}

int ibv_query_device(ibv_context*, ibv_device_attr* attr) {
  *attr = {};
  std::strcpy(attr->fw_ver, "0");
  attr->max_mr_size = UINT64_MAX;
  attr->page_size_cap = 4096;
  attr->vendor_id = 0x6e756c;  // "nul"
  attr->max_qp = kPairs - 1;
  attr->max_qp_wr = 1 << 14;
  attr->device_cap_flags = IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  attr->max_sge = attr->max_sge_rd = kMaxPieces;
  attr->max_cq = kQueues - 1;
  attr->max_cqe = 1 << 17;
  attr->max_mr = attr->max_mw = kRegions - 1;
  attr->max_pd = 1 << 20;
  attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 16;
  attr->max_pkeys = 1;
  attr->phys_port_cnt = 1;
  return 0;
}

int ibv_query_gid(ibv_context*, uint8_t, int, ibv_gid* gid) {
  *gid = {};
  gid->raw[10] = gid->raw[11] = 0xff;  // ::ffff:127.0.0.1
  gid->raw[12] = 127;
  gid->raw[15] = 1;
  return 0;
}
int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry, uint32_t, size_t) {
  *entry = {};
  entry->gid_index = index;
  entry->port_num = port;
  entry->gid_type = IBV_GID_TYPE_ROCE_V2;
  return ibv_query_gid(context, 1, 0, &entry->gid);
}
int ibv_query_pkey(ibv_context*, uint8_t, int, __be16* pkey) {
  *pkey = 0xffff;
  return 0;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  NullDomain* const domain = Make<NullDomain>();
  domain->pd.context = context;
  const std::lock_guard lock(Fabric().lock);
  domain->pd.handle = domain->number = ++Fabric().last_domain;
  return &domain->pd;
}
int ibv_dealloc_pd(ibv_pd* pd) {
  std::free(pd);
  return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova, unsigned access) {
  const bool sense = (access & IBV_ACCESS_LOCAL_WRITE) || !(access & IBV_ACCESS_REMOTE_WRITE);
  if (length == 0 || !sense || iova != reinterpret_cast<uintptr_t>(address)) {
    errno = EINVAL;
    return nullptr;
  }
  const uint32_t index = MakeRegion(DomainOf(pd), false);
  Region& region = Fabric().regions[index];
  region.address = iova;
  region.length = length;
  region.access = access;
  region.use.fetch_or(Region::kValid, std::memory_order_release);
  ibv_mr* const mr = Make<ibv_mr>();
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->handle = index;
  mr->lkey = mr->rkey = region.handle;
  return mr;
}
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
  return ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<uintptr_t>(address), static_cast<unsigned>(access));
}
ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova, int access) {
  return ibv_reg_mr_iova2(pd, address, length, iova, static_cast<unsigned>(access));
}
int ibv_dereg_mr(ibv_mr* mr) {
  if (Fabric().regions[mr->handle].windows.load() > 0) return EBUSY;
  DropRegion(mr->handle);
  std::free(mr);
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  NullChannel* const channel = Make<NullChannel>();
  channel->channel.context = context;
  channel->channel.fd = MakeMailbox(channel->mailbox);
  if (channel->channel.fd >= 0) return &channel->channel;
  std::free(channel);
  return nullptr;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  (void)::close(channel->fd);
  std::free(channel);
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int size, void* cq_context, ibv_comp_channel* channel, int) {
  if (size <= 0) {
    errno = EINVAL;
    return nullptr;
  }
  NullQueue* const own = Make<NullQueue>();
  const uint64_t entries = Allocate(static_cast<uint64_t>(size) * sizeof(Done));
  static std::atomic<uint32_t> last{0};
  own->number = ++last;
  {
    const std::lock_guard lock(Fabric().lock);
    own->index = TakeEntry(Fabric().queues, Fabric().last_queue);
  }
  Queue& queue = QueueAt(own->index);
  queue.pid = Self();
  queue.number = own->number;
  queue.capacity = static_cast<uint32_t>(size);
  queue.entries = entries;
  queue.channel = channel ? reinterpret_cast<NullChannel*>(channel)->mailbox : Mailbox{};
  queue.stalled = 0;
  queue.head_seen = 0;
  queue.tail = 0;
  queue.head = 0;
  queue.armed = 0;
  own->cq.context = context;
  own->cq.channel = channel;
  own->cq.cq_context = cq_context;
  own->cq.cqe = size;
  const std::lock_guard lock(Mine().mutex);
  Mine().queues[own->number] = own;
  return &own->cq;
}
int ibv_destroy_cq(ibv_cq* cq) {
  NullQueue& own = Of(cq);
  {
    const std::lock_guard lock(Mine().mutex);
    for (const auto& [number, pair] : Mine().pairs)
      if (pair->qp.send_cq == cq || pair->qp.recv_cq == cq) return EBUSY;
    Mine().queues.erase(own.number);
  }
  AwaitAcknowledgements(own);
  Queue& queue = QueueAt(own.index);
  Free(queue.entries, uint64_t{queue.capacity} * sizeof(Done));
  {
    const std::lock_guard lock(Fabric().lock);
    queue.taken = false;
  }
  std::free(&own);
  return 0;
}
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  Note note;
  while (Take(channel->fd, note)) {
    const std::lock_guard lock(Mine().mutex);
    const auto it = Mine().queues.find(note.number);
    if (it == Mine().queues.end()) continue;
    ++it->second->events;
    *cq = &it->second->cq;
    *cq_context = it->second->cq.cq_context;
    return 0;
  }
  return -1;
}
void ibv_ack_cq_events(ibv_cq* cq, unsigned count) { Of(cq).acknowledged += count; }

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  ibv_qp_cap& cap = init->cap;
  if (init->qp_type != IBV_QPT_RC || init->srq || cap.max_send_sge > kMaxPieces || cap.max_recv_sge > kMaxPieces ||
      cap.max_inline_data > kMaxInline) {
    errno = EINVAL;
    return nullptr;
  }
  NullPair* const own = Make<NullPair>();
  ReadDemand(*own);
  own->pair = &TakePair(*pd, *init);
  own->number = own->pair->number.load();
  own->qp.context = pd->context;
  own->qp.qp_context = init->qp_context;
  own->qp.pd = pd;
  own->qp.send_cq = init->send_cq;
  own->qp.recv_cq = init->recv_cq;
  own->qp.handle = own->qp.qp_num = own->number;
  own->qp.qp_type = IBV_QPT_RC;
  const std::lock_guard lock(Mine().mutex);
  Mine().pairs[own->number] = own;
  return &own->qp;
}

int ibv_destroy_qp(ibv_qp* qp) {
  NullPair& own = Of(qp);
  Pair& pair = *own.pair;
  {
    const std::lock_guard lock(Mine().mutex);
    Mine().pairs.erase(own.number);
  }
  AwaitAcknowledgements(own);
  {
    const std::lock_guard sending(pair.sending);
    const std::lock_guard giving(pair.giving);
    const std::lock_guard taking(pair.taking);
    if (pair.waiting.exchange(Waiting::kNo) != Waiting::kNo) QueueAt(pair.send_queue).stalled.fetch_sub(1);
    pair.first = pair.last = 0;
    pair.number = kNobody;
    pair.peer = kNobody;
    pair.state = IBV_QPS_RESET;
  }
  Free(pair.sends, uint64_t{pair.max_sends} * pair.send_stride);
  Free(pair.receives, uint64_t{pair.max_receives} * pair.receive_stride);
  {
    const std::lock_guard lock(Fabric().lock);
    pair.taken = false;
  }
  std::free(&own);
  return 0;
}

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  Pair& pair = *Of(qp).pair;
  if (mask & IBV_QP_RNR_RETRY) pair.rnr_retries = attr->rnr_retry;
  if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) pair.reads_served = attr->max_dest_rd_atomic;
  if (mask & IBV_QP_DEST_QPN) pair.peer = attr->dest_qp_num;
  if (!(mask & IBV_QP_STATE)) return 0;
  if (attr->qp_state == IBV_QPS_ERR) {
    StopPair(qp);
    return 0;
  }
  Put(pair, *qp, attr->qp_state);
  const uint32_t peer = pair.peer.load();
  if (attr->qp_state == IBV_QPS_RTR && PairOf(peer).waiting.load() == Waiting::kForPeer) Advance(PairOf(peer), false);
  return 0;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init) {
  const Pair& pair = *Of(qp).pair;
  *attr = {};
  *init = {};
  attr->qp_state = attr->cur_qp_state = static_cast<ibv_qp_state>(pair.state.load());
  attr->dest_qp_num = pair.peer.load();
  attr->port_num = 1;
  attr->path_mtu = IBV_MTU_4096;
  attr->rnr_retry = static_cast<uint8_t>(pair.rnr_retries);
  attr->max_dest_rd_atomic = static_cast<uint8_t>(pair.reads_served);
  attr->cap = {pair.max_sends, pair.max_receives, pair.send_pieces, pair.receive_pieces, pair.inline_room};
  init->cap = attr->cap;
  init->qp_context = qp->qp_context;
  init->send_cq = qp->send_cq;
  init->recv_cq = qp->recv_cq;
  init->qp_type = qp->qp_type;
  return 0;
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  Note note;
  while (Take(context->async_fd, note)) {
    *event = {};
    event->event_type = static_cast<ibv_event_type>(note.kind);
    if (note.number == kNobody) return 0;
    const std::lock_guard lock(Mine().mutex);
    const auto it = Mine().pairs.find(note.number);
    if (it == Mine().pairs.end()) continue;
    ++it->second->events;
    event->element.qp = &it->second->qp;
    return 0;
  }
  return -1;
}
void ibv_ack_async_event(ibv_async_event* event) {
  if (event->element.qp) ++Of(event->element.qp).acknowledged;
}

}  // extern "C"
