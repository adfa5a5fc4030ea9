#pragma once
// Keeps the kernels of users beside a training that runs: watches their files and headers, compiles, proves and times
// what was saved last, with less priority than the training, and has the versions that are ready. It changes nothing of
// the training.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/messages/user_kernels.h"
#include "gpu/ops/variant.h"
#include "gpu/runs/run_kernels.h"
#include "gpu/training/kernel_version.h"
#include "gpu/user_kernels/watch.h"
#include "gpu/user_kernels/workshop.h"

namespace warpscope::training {

/// Calls come from the trainer's thread, and none waits for what the keeper does.
class KernelKeeper {
 public:
  struct Options {
    core::DeviceInfo device;  ///< of the training
    std::vector<std::filesystem::path> includes;
    user_kernels::Workshop workshop;
    std::vector<std::string> forgotten = {};  ///< LiveKernels::forgotten
  };
  /// What became of a version, or of a file.
  struct News {
    std::string file;
    int version = 0;   ///< that is ready; 0: none is
    std::string text;  ///< one sentence
    bool bad = false;  ///< it was refused, or the file has gone
  };
  /// A version that a training can run.
  struct Ready {
    user_kernels::Kernel kernel;
    ops::Variant variant;  ///< Variant::version is its number
    runs::KernelFile file() const;
  };

  explicit KernelKeeper(Options options);
  /// Ends what is under way.
  ~KernelKeeper();
  KernelKeeper(const KernelKeeper&) = delete;
  KernelKeeper& operator=(const KernelKeeper&) = delete;

  /// A file that was tried before the training began, in whose table `variant` is, if it is usable; nullptr: it is not.
  void begin_with(const user_kernels::TriedKernel& tried, const ops::Variant* variant, bool apply);
  /// These throw core::BadInput with a sentence, and nothing has changed then.
  void load(const std::string& file, bool apply);
  void watch(const std::string& folder, bool on, bool apply);
  void apply_when_proved(const std::string& file, bool on);
  void forget(const std::string& file);

  /// Versions that come are timed on the shapes of these calls.
  void use_calls(std::vector<KernelCall> calls);
  /// Which version plans are built from, and whether the selection chooses it.
  void note_use(const std::string& file, int in_table, bool in_use);

  /// Nothing: no such version is kept.
  std::optional<Ready> version(const std::string& file, int number) const;
  /// A copy of what is told of it. Throws core::BadInput if it is not kept.
  UserKernel told_of(const std::string& file) const;
  /// What has come since the last call, in its order.
  std::vector<News> take_news();
  /// As it is now, if it is another than at the last call; else nullptr.
  std::shared_ptr<const UserKernels> take_state();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  struct Item {
    std::uint64_t id = 0;
    UserKernel told;
    std::vector<std::filesystem::path> files;  ///< that are watched
    std::vector<user_kernels::FileLook> looks;
    std::string checksum;  ///< of the content that was judged last
    bool due = true;       ///< something of it was written
    Clock::time_point changed{};
    bool pending = false;  ///< the newest version is under way
    int last = 0;          ///< number given to one that was judged
    std::map<int, Ready> ready;
  };
  /// What is made of one content, without the lock.
  struct Work;

  Item& add(const std::string& file, bool apply, const std::string& folder);
  Item* find(const std::string& file);
  Item* with_id(std::uint64_t id);
  const Item& existing(const std::string& file) const;
  void change() { changed_ = true; }
  void put_version(Item& item, const KernelVersion& version, bool pending);
  void drop_pending(Item& item);

  void run(const std::stop_token& stop);
  void look_at_folders(Lock& lock);
  void look_at_files(Lock& lock);
  void make_newest(Lock& lock, Item& item, const std::stop_token& stop);
  bool begin(Work& work);
  void tell_gone(Item& item, const std::string& why);
  void make(Work& work);
  void time(Work& work);
  void show(Work& work, KernelStage stage);
  void settle(Work& work);
  bool goes_on(Work& work);
  std::string why_refused(const user_kernels::Source& source, std::uint64_t id) const;
  std::vector<user_kernels::OtherKernel> others(const user_kernels::Source& source) const;

  const Options options_;
  mutable std::mutex mutex_;  ///< of everything below
  std::condition_variable_any wake_;
  bool asked_ = false;
  bool changed_ = true;
  std::uint64_t last_id_ = 0;
  std::list<Item> items_;
  std::vector<KernelFolder> folders_;
  std::set<std::string> forgotten_;  ///< UserKernels::forgotten
  Clock::time_point next_look_at_folders_{};
  std::vector<KernelCall> calls_;
  std::vector<News> news_;
  std::jthread thread_;  ///< ends before the rest
};

}  // namespace warpscope::training
