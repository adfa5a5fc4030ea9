// What the trainer's thread asks of the keeper; its own thread is in kernel_keeper_work.cpp.

#include "gpu/training/kernel_keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/paths.h"
#include "gpu/files/text.h"

namespace warpscope::training {
namespace {

/// Why kernels in `file` cannot run in a training on `device`, or "".
std::string other_device(const std::string& file, const core::DeviceInfo& device) {
  const bool cuda = user_kernels::language_of(file) == user_kernels::Language::cuda;
  if (cuda == (device.kind == core::DeviceKind::cuda)) return "";
  return fmt::format("{} is a kernel for {}, and this training runs on {}", files::sayable(file),
                     cuda ? "a GPU" : "the CPU", cuda ? "the CPU" : "a GPU");
}

bool same_place(const std::string& a, const std::string& b) {
  return files::absolute_path(a).lexically_normal() == files::absolute_path(b).lexically_normal();
}

}  // namespace

runs::KernelFile KernelKeeper::Ready::file() const {
  const user_kernels::Source& source = kernel.source;
  return {source.op, source.variant, source.file.filename().string(), source.text, kernel.headers};
}

KernelKeeper::KernelKeeper(Options options)
    : options_(std::move(options)),
      forgotten_(options_.forgotten.begin(), options_.forgotten.end()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

KernelKeeper::~KernelKeeper() = default;

KernelKeeper::Item* KernelKeeper::find(const std::string& file) {
  const auto found = std::ranges::find(items_, file, [](const Item& each) { return each.told.file; });
  return found == items_.end() ? nullptr : &*found;
}

KernelKeeper::Item* KernelKeeper::with_id(std::uint64_t id) {
  const auto found = std::ranges::find(items_, id, &Item::id);
  return found == items_.end() ? nullptr : &*found;
}

const KernelKeeper::Item& KernelKeeper::existing(const std::string& file) const {
  const auto found = std::ranges::find(items_, file, [](const Item& each) { return each.told.file; });
  if (found == items_.end())
    throw core::BadInput(fmt::format("no kernel of {} is loaded", files::sayable(file)));
  return *found;
}

KernelKeeper::Item& KernelKeeper::add(const std::string& file, bool apply, const std::string& folder) {
  Item& item = items_.emplace_back();
  item.id = ++last_id_;
  item.told.file = file;
  item.told.variant = user_kernels::variant_name_of(file);
  item.told.folder = folder;
  item.told.apply_when_proved = apply;
  item.files = {file};
  change();
  return item;
}

void KernelKeeper::begin_with(const user_kernels::TriedKernel& tried, const ops::Variant* variant,
                              bool apply) {
  const user_kernels::Kernel& kernel = tried.kernel;
  const user_kernels::Source& source = kernel.source;
  const Lock lock(mutex_);
  Item& item = add(source.file.string(), apply, "");
  item.told.op = source.op;
  item.files = user_kernels::files_behind(source.file, options_.includes);
  item.looks = user_kernels::look_at(item.files);
  item.checksum = user_kernels::checksum_of_all(item.files);
  try {  // it may have been saved while the training began
    item.due = user_kernels::read_source(source.file).text != source.text;
  } catch (const core::Error&) {
    item.due = true;
  }
  if (item.due) item.checksum.clear();
  KernelVersion version = version_of(kernel);
  version.number = item.last = 1;
  if (!tried.problem.empty()) version.sentence = tried.problem;
  version.stage = variant != nullptr ? KernelStage::ready : KernelStage::refused;
  put_version(item, version, false);
  if (variant == nullptr) return;
  item.told.in_table = 1;
  item.ready.emplace(1, Ready{kernel, *variant});
}

void KernelKeeper::load(const std::string& file, bool apply) {
  const std::string other = other_device(file, options_.device);
  const Lock lock(mutex_);
  if (Item* const known = find(file)) {
    known->told.apply_when_proved = apply;
    return change();
  }
  if (!other.empty()) throw core::BadInput(other);
  for (const Item& each : items_) {
    if (each.told.variant != user_kernels::variant_name_of(file)) continue;
    throw core::BadInput(
        same_place(each.told.file, file)
            ? fmt::format("{} is loaded already, as {}", files::sayable(file), files::sayable(each.told.file))
            : fmt::format("{} is the kernel of {} already: give {} another name", each.told.variant,
                          files::sayable(each.told.file), files::sayable(file)));
  }
  forgotten_.erase(file);
  add(file, apply, "");
  asked_ = true;
  wake_.notify_all();
}

void KernelKeeper::watch(const std::string& folder, bool on, bool apply) {
  const Lock lock(mutex_);
  const auto known = std::ranges::find(folders_, folder, &KernelFolder::path);
  if (!on) {
    if (known == folders_.end())
      throw core::BadInput(fmt::format("the folder {} is not watched", files::sayable(folder)));
    folders_.erase(known);
    forgotten_.insert(folder);
  } else if (known != folders_.end()) {
    known->apply_when_proved = apply;
  } else {
    folders_.push_back({folder, apply, ""});
    forgotten_.erase(folder);
    next_look_at_folders_ = {};
    asked_ = true;
    wake_.notify_all();
  }
  change();
}

void KernelKeeper::apply_when_proved(const std::string& file, bool on) {
  const Lock lock(mutex_);
  existing(file);
  find(file)->told.apply_when_proved = on;
  change();
}

void KernelKeeper::forget(const std::string& file) {
  const Lock lock(mutex_);
  existing(file);
  forgotten_.insert(file);
  std::erase_if(items_, [&](const Item& each) { return each.told.file == file; });
  change();
}

void KernelKeeper::use_calls(std::vector<KernelCall> calls) {
  const Lock lock(mutex_);
  calls_ = std::move(calls);
}

void KernelKeeper::note_use(const std::string& file, int in_table, bool in_use) {
  const Lock lock(mutex_);
  Item* const item = find(file);
  if (item == nullptr || (item->told.in_table == in_table && item->told.in_use == in_use)) return;
  item->told.in_table = in_table;
  item->told.in_use = in_use;
  change();
}

std::optional<KernelKeeper::Ready> KernelKeeper::version(const std::string& file, int number) const {
  const Lock lock(mutex_);
  const Item& item = existing(file);
  const auto found = item.ready.find(number);
  return found == item.ready.end() ? std::nullopt : std::optional<Ready>(found->second);
}

UserKernel KernelKeeper::told_of(const std::string& file) const {
  const Lock lock(mutex_);
  return existing(file).told;
}

std::vector<KernelKeeper::News> KernelKeeper::take_news() {
  const Lock lock(mutex_);
  return std::exchange(news_, {});
}

std::shared_ptr<const UserKernels> KernelKeeper::take_state() {
  const Lock lock(mutex_);
  if (!std::exchange(changed_, false)) return nullptr;
  auto state = std::make_shared<UserKernels>();
  for (const Item& each : items_) state->kernels.push_back(each.told);
  state->folders = folders_;
  state->forgotten.assign(forgotten_.begin(), forgotten_.end());
  return state;
}

}  // namespace warpscope::training
