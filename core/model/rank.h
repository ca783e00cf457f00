#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/facts.h"
#include "model/finding.h"

namespace devsan::model {

/// A parameter or buffer of a rank's model, in the order in which the model registers them. Ranks are compared by these.
struct RankTensor {
  std::string name;  ///< its path: "layers.0.weight"
  bool is_buffer = false;
  bool requires_grad = false;
  Device device;
  std::string dtype;  ///< without "torch."
  std::vector<std::int64_t> shape;

  bool operator==(const RankTensor&) const = default;
};

/// One root module of a rank, without the values.
struct RankModel {
  std::string expression;             ///< how the program reaches it
  std::string type;                   ///< class name
  std::vector<std::string> wrappers;  ///< outermost first: "DDP", "deepspeed", ...
  std::vector<RankTensor> tensors;    ///< the first ones, where there are very many
  std::uint64_t count = 0;            ///< of all its tensors
  std::string digest;                 ///< of all its tensors without their devices: the same where two models agree
  std::vector<MapEntry> device_map;   ///< hf_device_map, each device once
  std::string device_map_text;        ///< as the user wrote it
  Frame mapped_at;                    ///< the line that asked for the map
  std::vector<Device> hook_devices;   ///< where its hooks bring inputs to, each once
};

/// What a rank's process took on one GPU.
struct RankMemory {
  Device device;
  std::uint64_t bytes = 0;    ///< held at the end
  std::uint64_t peak = 0;     ///< most that was held
  std::vector<Event> placed;  ///< the first placements on it, oldest first
};

/// The last collective of a rank in one process group.
struct Collective {
  std::string group;                              ///< "default" or its name
  std::vector<int> members;                       ///< ranks of the job that are in the group; none: all
  std::uint64_t sequence = 0;                     ///< counts the group's collectives; 0: not known
  std::string name;                               ///< "all_reduce"
  std::vector<std::vector<std::int64_t>> shapes;  ///< of its tensors
  std::uint64_t bytes = 0;
  std::string dtype;
  Device device;
  double since = 0;       ///< when it was entered, seconds of the wall clock; 0: not known
  bool finished = false;  ///< the rank has left it
  Frame where;            ///< the program's line
  std::string through;    ///< where the library is that called, between the two: "accelerate/utils/operations.py:320"
  std::string condition;  ///< the test under which the line stands, where that is about ranks: "rank == 0"
  std::string
      condition_at;  ///< the line below it, "train.py:33", where that is of a caller; "" where it is the line itself
};

/// How a rank's process ended, as far as anybody knows.
enum class RankEnd {
  kUnknown,     ///< nothing was heard of it since
  kRunning,     ///< it was still at work when the job was looked at
  kFinished,    ///< its program came to its end
  kRaised,      ///< an exception ended it
  kExited,      ///< it left with an exit code other than 0
  kKilled,      ///< a signal ended it
  kTerminated,  ///< whoever started the job ended it, because of another rank
};

/// A finding that a rank made by itself, as far as the ranks' are compared.
struct OwnFinding {
  std::string code;
  std::string cause;  ///< as Finding::cause
  Message title;
  SentenceKind kind = SentenceKind::kNone;  ///< of the failure that it is about
  std::string sentence;
  Severity severity = Severity::kError;
  std::vector<Frame> placed;    ///< the lines that placed its operands
  std::vector<Device> devices;  ///< of its operands
};

/// Everything that is known of one rank when its job is looked at. Plain data: no tensor, no Python.
struct RankFacts {
  Process process;
  std::string host;                     ///< name of its machine
  std::vector<std::string> gpus;        ///< names of the GPUs that it sees, by ordinal; the same for the same GPU
  std::string backend;                  ///< of the default process group: "nccl"; "" without one
  Frame group_made;                     ///< the program's line that made the process group, for an edit
  std::vector<RankModel> models;        ///< the one that is trained first
  std::vector<RankMemory> memory;       ///< GPUs that it took memory on
  std::vector<Collective> collectives;  ///< its last one in each group; one that it waits in first
  RankEnd end = RankEnd::kUnknown;
  int exit_code = 0;           ///< of kExited
  int signal = 0;              ///< of kKilled
  double ended = 0;            ///< when, seconds of the wall clock; 0: not known
  std::string error;           ///< of kRaised: "ValueError"
  std::string sentence;        ///< its first line
  Frame where;                 ///< the program's line that raised; of one that was terminated: where it was
  bool in_collective = false;  ///< the exception came out of a call of torch.distributed
  bool peer_failed = false;    ///< the exception says that a peer rank is gone or does not come
  std::vector<OwnFinding> findings;
};

/// A finding about a job: a finding, and the ranks that it is about.
struct RankFinding {
  Finding finding;
  std::vector<int> ranks;                    ///< those whose cause it is, in order
  std::vector<std::vector<int>> site_ranks;  ///< for each of the finding's sites who was there; empty: `ranks` were
  std::vector<Message> victims;              ///< what it did to the others, a line each
  int of_rank = -1;                          ///< the rank whose own finding this is; -1: it is the job's
  int of_finding = -1;                       ///< the number of that finding
  int shown_rank = -1;     ///< of the job's: the rank whose own finding tells what failed by it; -1: nothing did
  int shown_finding = -1;  ///< the number of that one
};

}  // namespace devsan::model
