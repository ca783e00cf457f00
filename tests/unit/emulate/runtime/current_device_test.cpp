// What a thread remembers of the GPUs it has used: nothing, once there are others.

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <c10/util/thread_name.h>

#include "emulate/runtime/device.h"
#include "emulate/runtime/stream.h"

namespace devsan::emulate {
namespace {

/// A thread that does what it is given, one thing after the other.
class Worker {
 public:
  explicit Worker(std::string name = "worker")
      : thread_([this, name = std::move(name)] {
          c10::setThreadName(name);
          std::unique_lock lock(mutex_);
          while (true) {
            changed_.wait(lock, [this] { return task_ != nullptr || ended_; });
            if (ended_) return;
            task_();
            task_ = nullptr;
            changed_.notify_all();
          }
        }) {}
  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void run(std::function<void()> task) {
    std::unique_lock lock(mutex_);
    task_ = std::move(task);
    changed_.notify_all();
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  bool ended_ = false;
  std::thread thread_;
};

void show_devices(std::size_t count) {
  model::DeviceSpec spec;
  spec.total_memory = std::uint64_t{1} << 30;
  create_devices(std::vector<model::DeviceSpec>(count, spec));
}

/// The current device and the current streams of all devices.
std::vector<std::int64_t> place_of_a(Worker& worker) {
  std::vector<std::int64_t> place;
  worker.run([&place] {
    place.push_back(current_device());
    for (c10::DeviceIndex index = 0; index < device_count(); ++index) place.push_back(current_stream_id(index));
  });
  return place;
}

TEST(CurrentDevice, AThreadThatLivedThroughStartsStandsWhereANewOneDoes) {
  std::mt19937 random(5);
  const auto draw = [&random](std::size_t count) { return random() % count; };
  std::vector<std::unique_ptr<Worker>> old;
  for (int i = 0; i < 4; ++i) old.push_back(std::make_unique<Worker>());
  for (int start = 0; start < 200; ++start) {
    if (draw(3) == 0) retire_devices();
    show_devices(1 + draw(8));
    for (const auto& worker : old) {
      if (draw(4) == 0) continue;  // one that sleeps through a whole emulation
      Worker fresh;
      ASSERT_EQ(place_of_a(*worker), place_of_a(fresh)) << "start " << start;
      worker->run([&draw] {
        const auto index = static_cast<c10::DeviceIndex>(draw(static_cast<std::size_t>(device_count())));
        set_current_device(index);
        ASSERT_EQ(current_device(), index);
        const c10::Stream stream = new_stream(index, 0);
        exchange_stream(stream);
        ASSERT_EQ(current_stream_id(index), stream.id());
      });
    }
  }
  retire_devices();
}

TEST(CurrentDevice, AWorkerOfAutogradStaysWithItsDevice) {
  Worker worker("pt_autograd_2");
  for (const std::size_t count : {4, 3, 2, 8}) {
    show_devices(count);
    EXPECT_EQ(place_of_a(worker).front(), count > 2 ? 2 : 0);
    worker.run([] { set_current_device(1); });
    EXPECT_EQ(place_of_a(worker).front(), 1) << "the program's choice stands";
  }
  retire_devices();
}

}  // namespace
}  // namespace devsan::emulate
