#pragma once

#include <cstdint>
#include <string>

namespace devsan::model {

/// One GPU as a program sees it: what `torch.cuda.get_device_properties` prints, and how much memory it has.
/// The figures come from devsan/profiles.*, with their sources; C++ only carries them.
struct DeviceSpec {
  std::string name;                ///< as `torch.cuda.get_device_name` prints it
  std::string profile;             ///< DevSan's name of it, e.g. "a100-80g"
  std::string uuid;                ///< 16 bytes as hexadecimal text, without the "GPU-" prefix
  std::uint64_t total_memory = 0;  ///< bytes
  std::uint64_t used_memory = 0;   ///< bytes that other processes hold
  int major = 0;                   ///< compute capability
  int minor = 0;
  int multi_processor_count = 0;
  int max_threads_per_multi_processor = 0;
  int max_threads_per_block = 1024;
  int warp_size = 32;
  int regs_per_multiprocessor = 65536;
  std::uint64_t shared_memory_per_block = 0;           ///< bytes
  std::uint64_t shared_memory_per_block_optin = 0;     ///< bytes
  std::uint64_t shared_memory_per_multiprocessor = 0;  ///< bytes
  std::uint64_t l2_cache_size = 0;                     ///< bytes
  int memory_bus_width = 0;                            ///< bits
  int memory_clock_rate = 0;                           ///< kHz
  int clock_rate = 0;                                  ///< kHz
  int pci_bus_id = 0;
  int pci_device_id = 0;
  int pci_domain_id = 0;
  bool is_integrated = false;
  bool is_multi_gpu_board = false;
};

}  // namespace devsan::model
