#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/device.h"
#include "model/event.h"
#include "model/owner.h"

namespace devsan::model {

/// A parameter or a buffer, as its module registers it.
struct ModuleTensor {
  std::string name;  ///< within its module: "weight"
  bool is_buffer = false;
  bool is_persistent = true;  ///< false: a buffer that no checkpoint holds
  Device device;
  std::string dtype;
  std::uint64_t bytes = 0;
};

/// What a framework put onto a module's forward.
struct Hook {
  Owner owner;
  std::string type;                    ///< "AlignDevicesHook", "CpuOffload", "UserCpuOffloadHook"
  Device execution_device;             ///< where it brings the inputs
  bool offload = false;                ///< it brings the weights in for each call, and takes them away after it
  bool io_same_device = false;         ///< outputs go back to where the inputs came from
  std::vector<std::string> skip_keys;  ///< keyword arguments that it leaves alone
};

struct Module {
  std::string path;           ///< "model.layers.17", "" for the root
  std::string type;           ///< class name: "LlamaDecoderLayer"
  std::string package;        ///< that the class is from: "transformers", "" is the program
  bool is_container = false;  ///< ModuleList, Sequential, ModuleDict: has no code of its own that joins its children
  bool no_split = false;      ///< its class is in the model's _no_split_modules
  std::vector<ModuleTensor> tensors;  ///< its own, not its children's
  std::vector<Hook> hooks;            ///< outermost first
};

/// One entry of a device map. The key may name a parameter instead of a module.
struct MapEntry {
  std::string key;  ///< "model.layers.17", "" is the whole model
  Device device;    ///< may be "disk"
};

/// One root module of the program.
struct Model {
  std::string expression;            ///< how the program reaches it: "trainer.model"
  std::string type;                  ///< class name
  bool is_object = false;            ///< no module itself: a plain object that keeps several, as a Trainer does
  std::vector<MapEntry> device_map;  ///< hf_device_map; empty where there is none
  std::vector<std::string> mapped;   ///< paths of the modules that have one, "" for the model itself
  std::string device_map_text;       ///< what the user asked for: `device_map="auto"`
  std::vector<std::string>
      wrappers;              ///< outermost first: "DDP", "torch.nn.DataParallel", "deepspeed", "FSDP", "lightning"
  std::string quantization;  ///< "bitsandbytes 4-bit", "awq", ...; "" for none
  std::vector<std::string> skip_keys;  ///< _skip_keys_device_placement
  std::vector<std::string> no_split;   ///< _no_split_modules
  std::vector<Module> modules;         ///< every module, parents before children; the root is ""
  std::vector<Event> placements;       ///< what moved or dispatched it or parts of it, oldest first

  const Module* find(std::string_view path) const;
  /// The devices of its parameters and buffers, each once, in the order of the modules.
  std::vector<Device> devices() const;
};

/// The entry that decides about `path`: the longest key that is the path or a parent of it. Null: the map has a gap.
const MapEntry* entry_for(const std::vector<MapEntry>& map, std::string_view path);

/// "model.layers.17.mlp" -> "model.layers.17"; "" for the root and its children.
std::string_view parent_of(std::string_view path);

/// Whether `path` is `ancestor` or below it; everything is below "".
bool is_under(std::string_view path, std::string_view ancestor);

}  // namespace devsan::model
