#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/device.h"
#include "model/event.h"
#include "model/failure.h"
#include "model/module_tree.h"

namespace devsan::model {

/// A tensor that an optimizer, or an average of weights, keeps for a parameter.
struct OptimizerState {
  std::string key;        ///< "exp_avg"
  std::string parameter;  ///< path of the parameter, "" when it is no longer in a model
  Device device;
  Device parameter_device;
};

struct Optimizer {
  std::string type;                    ///< "torch.optim.AdamW", "EMA"
  Event built;                         ///< where it was constructed
  Event loaded;                        ///< the last load_state_dict; sequence 0 when there was none
  Frame written;                       ///< the program's only statement that writes into the state of an optimizer
  std::vector<OptimizerState> states;  ///< those that are not with their parameter, at most a few
  std::vector<Device> trains_on;       ///< where its parameters are, each once
};

/// A setting that someone chose, besides device maps.
struct Setting {
  std::string name;  ///< "deepspeed.zero_optimization.offload_optimizer.device", "Trainer.args.n_gpu", "nproc_per_node"
  std::string value;  ///< "cpu"
  Frame where;        ///< its line, where there is one
};

/// A path between two GPUs, as far as it was tested.
struct Link {
  Device from;
  Device to;
  bool tested = false;
  bool damaged = false;      ///< a copied pattern did not arrive
  bool peer_access = false;  ///< direct copies are switched on
  std::uint64_t bytes = 0;   ///< that the program sent over it
};

struct Process {
  int rank = 0;
  int local_rank = 0;
  int world_size = 1;
  Device current_device;                        ///< of the failing thread
  bool set_device_called = false;               ///< torch.cuda.set_device was called in this process
  int device_count = 0;                         ///< GPUs that this process sees
  std::string visible_devices;                  ///< CUDA_VISIBLE_DEVICES, "" when it is not set
  Device default_device;                        ///< torch.get_default_device(); not known or cpu when nobody changed it
  Event default_set;                            ///< where it was changed
  std::map<std::string, std::string> versions;  ///< by distribution: "torch" -> "2.13.0"
  std::map<std::string, std::string> environment;  ///< the variables that decide about devices

  /// Whether a launcher has told it the number of its GPU: torch.multiprocessing.spawn, srun and mpirun set no LOCAL_RANK.
  [[nodiscard]] bool is_launched() const { return environment.contains("LOCAL_RANK"); }
};

/// Everything that is known when a failure is to be explained. Plain data: no tensor, no Python.
struct Facts {
  Failure failure;
  std::vector<Model> models;  ///< the one that failed first
  std::vector<Optimizer> optimizers;
  std::vector<Setting> settings;
  std::vector<Link> links;
  Process process;
};

}  // namespace devsan::model
