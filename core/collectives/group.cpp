#include "collectives/group.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include "emulate/runtime/device.h"

namespace devsan::collectives {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// NOTE [What a machine is]
// NCCL's hash of a host is that of its name and of the kernel's boot id; NCCL_HOSTID replaces it (getHostHash of NCCL's
// src/misc/utils.cc). Several nodes can be rehearsed on one machine: torchrun's number of a node (GROUP_RANK) tells its
// ranks apart from another node's where the job has more ranks than the node. Then the nodes have GPUs of their own.
std::string machine() {
  if (std::string given = variable("NCCL_HOSTID"); !given.empty()) return given;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::string text = std::string(name.data()) + "/" + boot;
  const std::string local = variable("LOCAL_WORLD_SIZE");
  if (!local.empty() && local != variable("WORLD_SIZE")) text += "/" + variable("GROUP_RANK");
  return text;
}

}  // namespace

std::string log_prefix(const Group& group) {
  const bool described = !group.description.empty() && group.description != "undefined";
  return c10::str("[PG ID ", group.id, " PG GUID ", group.name,
                  described ? "(" + group.description + ")" : std::string(), " Rank ", group.rank, "] ");
}

Identity own_identity(c10::Device device) {
  const model::DeviceSpec& spec = emulate::device(device.index()).spec;
  Identity own;
  own.machine = machine();
  own.bus_id = (std::int64_t{spec.pci_domain_id} << 20) | (std::int64_t{spec.pci_bus_id} << 12) |
               (std::int64_t{spec.pci_device_id} << 4);
  own.process = getpid();
  own.ordinal = device.index();
  return own;
}

std::string to_text(const Identity& identity) {
  std::ostringstream text;
  text << identity.bus_id << ' ' << identity.process << ' ' << identity.ordinal << ' ' << identity.table << ' '
       << identity.table_key << ' ' << identity.machine;
  return text.str();
}

Identity identity_from_text(const std::string& text) {
  std::istringstream stream(text);
  Identity identity;
  stream >> identity.bus_id >> identity.process >> identity.ordinal >> identity.table >> identity.table_key;
  stream.get();
  std::getline(stream, identity.machine);
  TORCH_CHECK(!stream.fail(), "devsan: expected a rank of an emulated nccl group, got \"", text, "\" in the store");
  return identity;
}

bool has_ended(const Identity& identity) {
  if (identity.machine != machine()) return false;
  if (kill(static_cast<pid_t>(identity.process), 0) != 0) return errno == ESRCH;
  // A zombie: killed, and its parent has not looked yet. The state follows the name, which may hold anything.
  std::ifstream file("/proc/" + std::to_string(identity.process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() &&
         std::string_view("ZX").find(line[name_end + 2]) != std::string_view::npos;
}

}  // namespace devsan::collectives
