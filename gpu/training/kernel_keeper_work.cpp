// The keeper's thread: which files have changed, and the way of what they hold to a version that is ready.

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/training/kernel_keeper.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

constexpr auto kLookAtFiles = milliseconds(25);
/// A file that was not written for so long is whole.
constexpr auto kWhole = milliseconds(40);
constexpr auto kLookAtFolders = milliseconds(500);
constexpr std::size_t kMostReady = 8;
/// A core that the training wants too leaves less than a tenth of its time to work of this niceness.
constexpr int kNiceness = 12;

/// Lowers that of this thread, and with it of the threads that it starts and its processes.
void lower_priority() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
}

std::string file_name_of(const std::string& file) {
  return files::sayable(std::filesystem::path(file).filename().string());
}

std::string goes_on_text(const UserKernel& kernel) {
  return kernel.in_table == 0 ? "" : fmt::format("; version {} stays", kernel.in_table);
}

}  // namespace

struct KernelKeeper::Work {
  Work(std::uint64_t of, const std::stop_token& until) : id(of), stop(until) {}

  std::uint64_t id;
  const std::stop_token& stop;
  std::vector<std::filesystem::path> files;
  std::vector<user_kernels::FileLook> looks;
  std::string checksum;
  user_kernels::Kernel kernel;
  KernelVersion version;
  std::optional<ops::Variant> variant;
  std::vector<user_kernels::OtherKernel> rivals;
  std::vector<KernelCall> calls;
  std::mutex looking;  ///< of the next two: compilers ask from several threads
  Clock::time_point looked = Clock::now();
  bool overtaken = false;
};

void KernelKeeper::put_version(Item& item, const KernelVersion& version, bool pending) {
  drop_pending(item);
  item.told.versions.push_back(std::make_shared<const KernelVersion>(version));
  item.pending = pending;
  // A refused one is told as long as it is the newest.
  auto& versions = item.told.versions;
  const auto last = versions.end() - 1;
  versions.erase(std::remove_if(versions.begin(), last,
                                [&](const auto& each) { return !item.ready.contains(each->number); }),
                 last);
  change();
}

void KernelKeeper::drop_pending(Item& item) {
  if (!std::exchange(item.pending, false)) return;
  item.told.versions.pop_back();
  change();
}

void KernelKeeper::run(const std::stop_token& stop) {
  lower_priority();
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    look_at_folders(lock);
    look_at_files(lock);
    const auto now = Clock::now();
    const auto due = std::ranges::find_if(
        items_, [&](const Item& each) { return each.due && now - each.changed >= kWhole; });
    if (due != items_.end()) {
      make_newest(lock, *due, stop);
    } else {
      wake_.wait_for(lock, stop, kLookAtFiles, [this] { return asked_; });
      asked_ = false;
    }
  }
}

/// Files that are kernels and are not loaded yet.
void KernelKeeper::look_at_folders(Lock& lock) {
  if (folders_.empty() || Clock::now() < next_look_at_folders_) return;
  next_look_at_folders_ = Clock::now() + kLookAtFolders;
  for (KernelFolder folder : std::vector<KernelFolder>(folders_)) {
    lock.unlock();
    const auto found = user_kernels::kernels_in(folder.path, folder.problem);
    lock.lock();
    for (const std::filesystem::path& file : found) {
      const bool cuda = user_kernels::language_of(file) == user_kernels::Language::cuda;
      const bool fits = cuda == (options_.device.kind == core::DeviceKind::cuda);
      if (!fits || find(file.string()) != nullptr || forgotten_.contains(file.string())) continue;
      const std::string variant = user_kernels::variant_name_of(file.string());
      const auto other =
          std::ranges::find(items_, variant, [](const Item& each) { return each.told.variant; });
      if (other == items_.end()) {
        add(file.string(), folder.apply_when_proved, folder.path);
      } else if (std::error_code error;
                 !std::filesystem::equivalent(other->told.file, file, error) && folder.problem.empty()) {
        folder.problem = fmt::format("{} is the kernel of {} already: give {} another name", variant,
                                     files::sayable(other->told.file), files::sayable(file.string()));
      }
    }
    const auto known = std::ranges::find(folders_, folder.path, &KernelFolder::path);
    if (known == folders_.end() || known->problem == folder.problem) continue;
    known->problem = folder.problem;
    if (!folder.problem.empty()) news_.push_back({folder.path, 0, folder.problem, true});
    change();
  }
}

void KernelKeeper::look_at_files(Lock& lock) {
  struct Seen {
    std::uint64_t id = 0;
    std::vector<std::filesystem::path> files;
    std::vector<user_kernels::FileLook> looks;
  };
  std::vector<Seen> seen;
  for (const Item& each : items_) seen.push_back({each.id, each.files, {}});
  lock.unlock();
  for (Seen& each : seen) each.looks = user_kernels::look_at(each.files);
  lock.lock();
  for (Seen& each : seen) {
    Item* const item = with_id(each.id);
    if (item == nullptr || item->looks == each.looks) continue;
    const bool first = item->looks.empty();
    item->looks = std::move(each.looks);
    item->due = true;
    if (!first) item->changed = Clock::now();
    if (item->told.gone || !item->looks.front().there) continue;
    KernelVersion waiting;
    waiting.number = item->last + 1;
    put_version(*item, waiting, true);
  }
}

void KernelKeeper::make_newest(Lock& lock, Item& item, const std::stop_token& stop) {
  item.due = false;
  Work work(item.id, stop);
  work.kernel.source.file = item.told.file;
  lock.unlock();
  if (begin(work)) make(work);
  lock.lock();
}

void KernelKeeper::tell_gone(Item& item, const std::string& why) {
  drop_pending(item);
  const std::string problem = why + goes_on_text(item.told);
  if (item.told.gone && item.told.problem == problem) return;
  item.told.gone = true;
  item.told.problem = problem;
  news_.push_back({item.told.file, 0, problem, true});
  change();
}

/// Reads what there is. False if there is nothing to make of it.
bool KernelKeeper::begin(Work& work) {
  const std::filesystem::path file = work.kernel.source.file;
  work.files = user_kernels::files_behind(file, options_.includes);
  work.looks = user_kernels::look_at(work.files);
  work.checksum = user_kernels::checksum_of_all(work.files);
  const bool readable = work.looks.front().there && ::access(file.c_str(), R_OK) == 0;
  std::string refusal;
  try {
    work.kernel.source = user_kernels::read_source(file);
    work.kernel.headers = user_kernels::headers_of(file, options_.includes);
  } catch (const core::Error& error) {
    refusal = error.what();
  }
  const Lock lock(mutex_);
  Item* const item = with_id(work.id);
  if (item == nullptr) return false;
  item->files = work.files;
  item->looks = work.looks;
  if (!readable) {
    tell_gone(*item, work.looks.front().there
                         ? refusal
                         : fmt::format("{} is not there", file_name_of(item->told.file)));
    return false;
  }
  if (std::exchange(item->told.gone, false)) item->told.problem.clear();
  if (work.checksum == item->checksum) {  // saved again as it was
    drop_pending(*item);
    change();
    return false;
  }
  work.version = version_of(work.kernel);
  work.version.sentence = refusal.empty() ? why_refused(work.kernel.source, work.id) : refusal;
  work.version.number = item->last + 1;
  if (!work.version.sentence.empty()) {
    work.version.stage = KernelStage::refused;
    return true;
  }
  item->told.op = work.kernel.source.op;
  work.rivals = others(work.kernel.source);
  work.calls = calls_;
  return true;
}

/// Why it cannot be what the file was so far, or is what another file is; "" if neither is so. With the lock.
std::string KernelKeeper::why_refused(const user_kernels::Source& source, std::uint64_t id) const {
  for (const Item& each : items_) {
    if (each.id == id && each.told.op && *each.told.op != source.op && each.told.in_table > 0) {
      return fmt::format("{} was a kernel of {}, which it is no longer: forget it first, then load it anew",
                         file_name_of(each.told.file), ops::to_string(*each.told.op));
    }
  }
  return "";
}

/// Kernels of the same op, and the version before. With the lock.
std::vector<user_kernels::OtherKernel> KernelKeeper::others(const user_kernels::Source& source) const {
  std::vector<user_kernels::OtherKernel> others;
  for (const Item& each : items_) {
    if (each.ready.empty()) continue;
    const auto in_table = each.ready.find(each.told.in_table);
    const auto& [number, ready] = in_table == each.ready.end() ? *each.ready.rbegin() : *in_table;
    const user_kernels::Kernel& kernel = ready.kernel;
    if (kernel.source.op != source.op || kernel.source.language != source.language) continue;
    const std::filesystem::path& code = kernel.compiled.fast;
    if (std::error_code error; !code.empty() && !std::filesystem::exists(code, error)) continue;  // pruned
    user_kernels::Source named = kernel.source;
    named.text.clear();
    others.push_back({kernel.source.variant, number, std::move(named), kernel.compiled.fast});
  }
  return others;
}

/// Asked by compilers and trials, from several threads: false where something newer was saved.
bool KernelKeeper::goes_on(Work& work) {
  if (work.stop.stop_requested()) return false;
  const std::lock_guard looking(work.looking);
  if (!work.overtaken && Clock::now() - work.looked >= kLookAtFiles) {
    work.looked = Clock::now();
    work.overtaken = user_kernels::look_at(work.files) != work.looks;
    const Lock lock(mutex_);
    work.overtaken = work.overtaken || with_id(work.id) == nullptr;
  }
  return !work.overtaken;
}

void KernelKeeper::show(Work& work, KernelStage stage) {
  work.version.stage = stage;
  const Lock lock(mutex_);
  if (Item* const item = with_id(work.id)) put_version(*item, work.version, true);
}

/// From the text to a verdict and times. What was overtaken leaves nothing.
void KernelKeeper::make(Work& work) {
  const user_kernels::Workshop& workshop = options_.workshop;
  const auto go_on = [&] { return goes_on(work); };
  try {
    if (work.version.stage != KernelStage::refused) {
      show(work, KernelStage::compiling);
      const user_kernels::Source& source = work.kernel.source;
      work.kernel.compiled =
          workshop.compile(source, {options_.includes, {}, options_.device.compute_capability, go_on});
      work.version.cached = work.kernel.compiled.cached;
      work.version.compile_milliseconds = work.kernel.compiled.milliseconds;
      if (work.kernel.compiled.errors.empty()) {
        show(work, KernelStage::proving);
        user_kernels::TrialOptions trial;
        trial.device = options_.device.id();
        trial.go_on = go_on;
        for (const KernelShapeTimes& each : shapes_of(source.task(), work.calls))
          trial.shapes.push_back(each.shape);
        work.kernel.verdict = workshop.prove(source, work.kernel.compiled, trial);
      }
      const int number = work.version.number;
      work.version = version_of(work.kernel);
      work.version.number = number;
      work.version.stage = work.kernel.usable() ? KernelStage::ready : KernelStage::refused;
      if (work.kernel.usable()) time(work);
    }
  } catch (const std::exception& error) {
    if (!goes_on(work)) {
      const Lock lock(mutex_);
      if (Item* const item = with_id(work.id)) drop_pending(*item);
      return;
    }
    work.version.stage = KernelStage::refused;
    work.version.sentence = error.what();
    work.checksum.clear();  // it may have been something else: the same text is tried again once it is saved
  }
  settle(work);
}

void KernelKeeper::time(Work& work) {
  const user_kernels::Workshop& workshop = options_.workshop;
  const user_kernels::Source& source = work.kernel.source;
  std::vector<KernelShapeTimes> shapes = shapes_of(source.task(), work.calls);
  if (!shapes.empty()) {
    show(work, KernelStage::timing);
    user_kernels::TrialOptions trial;
    trial.device = options_.device.id();
    trial.go_on = [&] { return goes_on(work); };
    for (const KernelShapeTimes& each : shapes) trial.shapes.push_back(each.shape);
    const user_kernels::Times times = workshop.time(source, work.kernel.compiled, work.rivals, trial);
    if (!times.sentence.empty()) throw core::Error(times.sentence);
    add_times(shapes, times, source.variant, work.version.number);
    work.version.times = std::move(shapes);
    work.version.gpu = build_of(times);
  }
  work.variant = workshop.load(work.kernel);
  work.variant->version = work.version.number;
  work.version.stage = KernelStage::ready;
}

/// The version is told, and kept if it is ready.
void KernelKeeper::settle(Work& work) {
  const Lock lock(mutex_);
  Item* const item = with_id(work.id);
  if (item == nullptr) return;
  const KernelVersion& version = work.version;
  item->checksum = work.checksum;
  item->last = version.number;
  const std::string what = fmt::format("kernel {}, version {}", item->told.variant, version.number);
  if (work.variant) {
    item->ready.emplace(version.number, Ready{std::move(work.kernel), std::move(*work.variant)});
    for (auto each = item->ready.begin(); item->ready.size() > kMostReady;)
      each = each->first == item->told.in_table ? std::next(each) : item->ready.erase(each);
    news_.push_back({item->told.file, version.number, fmt::format("{}: {}", what, version.sentence), false});
  } else {
    news_.push_back({item->told.file, 0,
                     fmt::format("{} is refused: {}{}", what, version.sentence, goes_on_text(item->told)),
                     true});
  }
  put_version(*item, version, false);
}

}  // namespace warpscope::training
