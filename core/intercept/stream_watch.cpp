#include "intercept/stream_watch.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "emulate/runtime/gpu_trace.h"
#include "emulate/runtime/pinned_memory.h"
#include "emulate/runtime/stream.h"
#include "emulate/runtime/tensor.h"
#include "order/monitor.h"

namespace devsan::intercept {
namespace {

using order::Monitor;

// torch keeps this key, above autograd, for extensions outside of it, and registers nothing there. The policy `warn` and
// the comparison of numbers have the two keys above it.
constexpr c10::DispatchKey kKey = c10::DispatchKey::DeferredInit;

/// What the schema of an operator says, looked up once.
struct Plan {
  enum class Use : std::uint8_t { kNothing, kRead, kWrite };
  std::string name;
  std::vector<Use> uses;
  std::optional<std::size_t> non_blocking;  ///< the index of that argument
  std::size_t returns = 0;
  bool touches = false;  ///< whether it is an operator that touches memory by itself
  bool makes = false;    ///< what it returns is new, and written
  bool copies = false;
  bool is_awaited = false;
};

/// Operators that look at no element, and change what a tensor is instead of what it holds.
bool is_without_elements(const std::string& name) {
  static const std::unordered_set<std::string> names = {"aten::record_stream",
                                                        "aten::set_",
                                                        "aten::set_data",
                                                        "aten::resize_",
                                                        "aten::resize_as_",
                                                        "aten::_resize_output_",
                                                        "aten::detach_",
                                                        "aten::requires_grad_",
                                                        "aten::squeeze_",
                                                        "aten::unsqueeze_",
                                                        "aten::t_",
                                                        "aten::transpose_",
                                                        "aten::swapaxes_",
                                                        "aten::swapdims_",
                                                        "aten::as_strided_",
                                                        "aten::rename_",
                                                        "aten::is_pinned",
                                                        "aten::is_same_size",
                                                        "aten::is_set_to",
                                                        "aten::result_type",
                                                        "aten::can_cast",
                                                        "aten::_has_same_storage_numel",
                                                        "aten::_version",
                                                        "aten::is_leaf",
                                                        "aten::output_nr",
                                                        "aten::retain_grad",
                                                        "aten::retains_grad",
                                                        "aten::size",
                                                        "aten::stride",
                                                        "aten::numel",
                                                        "aten::sym_size",
                                                        "aten::sym_stride",
                                                        "aten::sym_numel",
                                                        "aten::sym_storage_offset",
                                                        "aten::dim",
                                                        "aten::is_contiguous",
                                                        "aten::data",
                                                        "aten::_to_copy",
                                                        "aten::empty_like",
                                                        "aten::empty",
                                                        "aten::empty_strided",
                                                        "aten::empty_permuted",
                                                        "aten::new_empty",
                                                        "aten::new_empty_strided",
                                                        "aten::_fw_primal",
                                                        "aten::_make_dual",
                                                        "aten::_unpack_dual",
                                                        "aten::is_coalesced",
                                                        "aten::sparse_dim",
                                                        "aten::dense_dim",
                                                        "aten::_nnz"};
  return names.contains(name);
}

/// Operators that take only the shape of their first tensor.
bool reads_no_operand(const std::string& name) { return name.ends_with("_like") || name.starts_with("aten::new_"); }

Plan plan_of(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  Plan plan;
  plan.name = schema.name();
  plan.returns = schema.returns().size();
  // A kernel of ours at the backend's own key does the whole of a composite.
  const bool composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
                         !op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1) &&
                         !op.hasKernelForDispatchKey(c10::DispatchKey::AutogradPrivateUse1);
  plan.touches = plan.name.starts_with("aten::") && !composite && !is_without_elements(plan.name);
  plan.copies = plan.name == "aten::copy_";
  plan.is_awaited = emulate::is_awaited(op);
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const auto* alias = argument.alias_info();
    const bool is_written = alias != nullptr && alias->isWrite();
    const bool is_viewed = alias != nullptr && !is_written;
    plan.uses.push_back(is_written                                 ? Plan::Use::kWrite
                        : is_viewed || reads_no_operand(plan.name) ? Plan::Use::kNothing
                                                                   : Plan::Use::kRead);
    if (argument.name() == "non_blocking") plan.non_blocking = i;
  }
  plan.makes = std::none_of(schema.returns().begin(), schema.returns().end(),
                            [](const c10::Argument& result) { return result.alias_info() != nullptr; });
  return plan;
}

const Plan& known_plan(const c10::OperatorHandle& op) {
  // Never forgotten: accesses name operators by their plans. A thread's own, so that no lock is needed.
  thread_local auto* plans = new std::unordered_map<const c10::FunctionSchema*, const Plan*>();
  const Plan*& plan = (*plans)[&op.schema()];
  if (C10_UNLIKELY(plan == nullptr)) plan = new Plan(plan_of(op));
  return *plan;
}

std::uint64_t geometry_of(const at::Tensor& tensor) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  for (const auto values : {tensor.sizes(), tensor.strides()}) {
    for (const std::int64_t value : values) hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001B3ULL;
  }
  return hash | 1U;
}

order::Bytes bytes_of(const at::Tensor& tensor) {
  const auto item = static_cast<std::int64_t>(tensor.dtype().itemsize());
  std::int64_t last = 0;
  std::int64_t elements = 1;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    last += (tensor.size(dim) - 1) * tensor.stride(dim);
    if (tensor.stride(dim) != 0) elements *= tensor.size(dim);
  }
  const auto first = reinterpret_cast<std::uintptr_t>(tensor.storage().data()) +
                     static_cast<std::uintptr_t>(tensor.storage_offset() * item);
  return {first, first + static_cast<std::uintptr_t>((last + 1) * item), elements > last ? 0 : geometry_of(tensor)};
}

/// The tensors of one call, and where it runs.
struct Seen {
  c10::SmallVector<order::Touch, 8> touches;
  std::optional<c10::Device> gpu;  ///< of the first tensor on one
  bool is_opaque = false;          ///< a tensor that Python carries: the call will be seen as what it is made of

  void look_at(const at::Tensor& tensor, Plan::Use use) {
    if (!tensor.defined()) return;
    if (tensor.key_set().has(c10::DispatchKey::Python)) is_opaque = true;
    if (tensor.is_cuda() && !gpu) gpu = tensor.device();
    if (use == Plan::Use::kNothing || tensor.layout() != c10::kStrided || !tensor.has_storage()) return;
    if (tensor.numel() == 0 || tensor.storage().data() == nullptr) return;
    const bool on_host = tensor.is_cpu();
    if (on_host ? !emulate::is_pinned(tensor.storage().data()) : !tensor.is_cuda()) return;
    touches.push_back({reinterpret_cast<std::uintptr_t>(tensor.storage().data()), bytes_of(tensor),
                       use == Plan::Use::kWrite, on_host});
  }

  void look_at(const c10::IValue& value, Plan::Use use) {
    if (value.isTensor()) {
      look_at(value.toTensor(), use);
    } else if (value.isList()) {
      for (const c10::IValue& element : value.toListRef()) {
        if (!element.isTensor()) {
          if (!element.isNone()) return;
          continue;
        }
        look_at(element.toTensor(), use);
      }
    }
  }
};

Seen arguments_of(const Plan& plan, const torch::jit::Stack& stack) {
  Seen seen;
  const c10::IValue* value = stack.data() + (stack.size() - plan.uses.size());
  for (const Plan::Use use : plan.uses) seen.look_at(*value++, use);
  return seen;
}

order::Lane current_lane(c10::Device device) { return {device.index(), emulate::current_stream_id(device.index())}; }

thread_local int t_within = 0;  // operators that touch memory by themselves, around this call

/// The kernel calls more operators: those on the host are its own.
class Within {
 public:
  Within() { ++t_within; }
  ~Within() { --t_within; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
};

/// Only what the stream does; what the host does with its own operand is of the host.
void run_apart(order::Lane lane, const Seen& seen, const std::string* name) {
  c10::SmallVector<order::Touch, 8> host;
  c10::SmallVector<order::Touch, 8> gpu;
  for (const order::Touch& touch : seen.touches) (touch.on_host ? host : gpu).push_back(touch);
  Monitor::instance().run(order::kHost, {host.data(), host.size()}, name);
  Monitor::instance().run(lane, {gpu.data(), gpu.size()}, name);
}

/// As aten/src/ATen/native/cuda/Copy.cu: between two GPUs on the stream of the source, and both wait for each other; to
/// and from the host on the GPU's stream, and the host waits unless it need not. What is not pinned is always waited for
/// on its way to the host.
void copy(const Plan& plan, const at::Tensor& target, const at::Tensor& source, bool non_blocking, const Seen& seen) {
  Monitor& monitor = Monitor::instance();
  const std::span<const order::Touch> touches{seen.touches.data(), seen.touches.size()};
  if (target.is_cuda() && source.is_cuda()) {
    const order::Lane from = current_lane(source.device());
    const order::Lane to = current_lane(target.device());
    if (from != to) monitor.wait(from, to);
    monitor.run(from, touches, &plan.name);
    if (from != to) monitor.wait(to, from);
    return;
  }
  const order::Lane lane = current_lane(target.is_cuda() ? target.device() : source.device());
  monitor.run(lane, touches, &plan.name);
  const bool pinned = emulate::is_pinned(target.is_cuda() ? source.storage().data() : target.storage().data());
  if (!non_blocking || (!pinned && target.is_cpu())) monitor.wait(order::kHost, lane);
}

void before(const Plan& plan, const torch::jit::Stack& stack, const Seen& seen) {
  if (!seen.gpu) {
    Monitor::instance().run(order::kHost, {seen.touches.data(), seen.touches.size()}, &plan.name);
    return;
  }
  if (plan.copies) {
    const auto arguments = torch::jit::last(stack, plan.uses.size());
    const bool non_blocking = plan.non_blocking && arguments[*plan.non_blocking].toBool();
    copy(plan, arguments[0].toTensor(), arguments[1].toTensor(), non_blocking, seen);
    return;
  }
  run_apart(current_lane(*seen.gpu), seen, &plan.name);
}

void after(const Plan& plan, const torch::jit::Stack& stack, const Seen& seen) {
  if (plan.makes) {
    Seen made;
    for (const c10::IValue& result : torch::jit::last(stack, plan.returns)) made.look_at(result, Plan::Use::kWrite);
    const auto place = seen.gpu ? seen.gpu : made.gpu;
    if (place) {
      run_apart(current_lane(*place), made, &plan.name);
    } else {
      Monitor::instance().run(order::kHost, {made.touches.data(), made.touches.size()}, &plan.name);
    }
  }
  if (plan.is_awaited && seen.gpu) Monitor::instance().wait(order::kHost, current_lane(*seen.gpu));
}

void watch(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
  if (!Monitor::is_watching() || c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Python)) {
    return op.redispatchBoxed(below, stack);
  }
  const Plan& plan = known_plan(op);
  if (!plan.touches) return op.redispatchBoxed(below, stack);
  const Seen seen = arguments_of(plan, *stack);
  if (seen.is_opaque || (t_within > 0 && !seen.gpu)) return op.redispatchBoxed(below, stack);
  before(plan, *stack, seen);
  {
    const Within within;
    op.redispatchBoxed(below, stack);
  }
  after(plan, *stack, seen);
}

}  // namespace

void start_stream_watch() {
  static auto* library = [] {
    auto* made = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, static_cast<std::uint32_t>(__LINE__));
    made->fallback(torch::CppFunction::makeFromBoxedFunction<&watch>());
    return made;  // leaked, as the operators' own library is: see register_operators
  }();
  static_cast<void>(library);
  c10::impl::tls_set_dispatch_key_included(kKey, true);
}

void join_stream_watch() {
  if (Monitor::is_watching()) c10::impl::tls_set_dispatch_key_included(kKey, true);
}

std::optional<order::Touch> host_read_of(const at::Tensor& tensor) {
  if (!Monitor::is_watching() || !c10::impl::tls_is_dispatch_key_included(kKey) || !tensor.is_cpu())
    return std::nullopt;
  Seen seen;
  seen.look_at(tensor, Plan::Use::kRead);
  if (seen.touches.empty()) return std::nullopt;
  return seen.touches.front();
}

bool stop_stream_watch() {
  const bool was_seen = c10::impl::tls_is_dispatch_key_included(kKey);
  c10::impl::tls_set_dispatch_key_included(kKey, false);
  return was_seen;
}

}  // namespace devsan::intercept
