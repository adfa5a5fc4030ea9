// The trainer's thread: kernels of users, from what the keeper has ready into the table that plans are built from, each
// between two steps.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/training/worker.h"

namespace warpscope::training {

/// Why this training takes no kernels of users now, or "".
const char* Trainer::Worker::why_no_kernels() const {
  if (views()) return "a run that is only looked at takes no kernels of your own";
  if (around_.ranks) return "kernels of your own run in one process: go on with one rank first";
  return "";
}

/// It begins with the first kernel.
KernelKeeper& Trainer::Worker::kernel_keeper() {
  if (const std::string why = why_no_kernels(); !why.empty()) throw core::BadInput(why);
  if (!kernels_) {
    const user_kernels::LiveKernels& live = around_.live_kernels;
    kernels_ =
        std::make_unique<KernelKeeper>(KernelKeeper::Options{device_->info(), live.includes, live.workshop});
    tell_calls();
  }
  return *kernels_;
}

/// On which shapes kernels are timed.
void Trainer::Worker::tell_calls() {
  if (!kernels_) return;
  std::vector<KernelCall> calls;
  for (const OpTiming& each : engine_->timings().timings())
    calls.push_back({each.op, each.layer, each.shape});
  kernels_->use_calls(std::move(calls));
}

/// Those that were tried before the training began. What was asked for and refused runs as soon as it is right.
void Trainer::Worker::begin_kernels() {
  for (const user_kernels::TriedKernel& each : around_.live_kernels.tried) {
    const user_kernels::Source& source = each.kernel.source;
    const core::DeviceKind device =
        source.language == user_kernels::Language::cuda ? core::DeviceKind::cuda : core::DeviceKind::cpu;
    const ops::Variant* const variant =
        each.usable() ? ops::find_variant(*view_.variants, source.op, device, source.variant) : nullptr;
    const bool asked = std::ranges::find(asked_kernels_, source.variant) != asked_kernels_.end();
    kernel_keeper().begin_with(each, variant, asked || chooses(source.op, source.variant));
  }
}

bool Trainer::Worker::chooses(ops::Op op, const std::string& variant) const {
  const auto chosen = view_.selection.variants.find(op);
  return chosen != view_.selection.variants.end() && chosen->second == variant;
}

/// The name of a kernel whose file was tried and refused, so that its op is run by another variant until it is right.
bool Trainer::Worker::was_refused(const std::string& variant) {
  for (const user_kernels::TriedKernel& each : around_.live_kernels.tried) {
    if (each.kernel.source.variant != variant || each.usable()) continue;
    asked_kernels_.push_back(variant);
    publishing_.tell(fmt::format("{} is refused, and its operation runs without it until it is right: {}",
                                 variant,
                                 each.problem.empty() ? user_kernels::refusal(each.kernel) : each.problem));
    return true;
  }
  return false;
}

void Trainer::Worker::follow_kernels() {
  tell_kernels();
  if (!kernels_ || rewinding_ || rate_search_) return;
  note_use_of_kernels();
  const std::vector<KernelKeeper::News> all = kernels_->take_news();
  tell_kernels();  // those of the news are known from here on
  for (const KernelKeeper::News& news : all) {
    publishing_.log(news.bad ? LogLevel::warning : LogLevel::info, news.text);
    if (news.version > 0) attempt([&] { take_version(news.file, news.version); });
  }
  note_use_of_kernels();
  tell_kernels();
}

void Trainer::Worker::tell_kernels() {
  auto state = kernels_ ? kernels_->take_state() : nullptr;
  if (!state && view_.user_kernels->why_not == why_no_kernels()) return;
  auto told = std::make_shared<UserKernels>(state ? *state : *view_.user_kernels);
  told->why_not = why_no_kernels();
  view_.user_kernels = std::move(told);
}

void Trainer::Worker::note_use_of_kernels() {
  for (const UserKernel& each : view_.user_kernels->kernels) {
    if (!each.op) continue;
    const ops::Variant* const found =
        ops::find_variant(*view_.variants, *each.op, device_->kind(), each.variant);
    kernels_->note_use(each.file, found == nullptr ? 0 : found->version, chooses(*each.op, each.variant));
  }
}

/// One that is proved: into the training where it is asked for, else to choose from.
void Trainer::Worker::take_version(const std::string& file, int number) {
  const UserKernel told = kernels_->told_of(file);
  const bool trains = view_.state == TrainerState::running || view_.state == TrainerState::paused;
  if (told.apply_when_proved && trains) return use_kernel(file, number);
  if (told.op && chooses(*told.op, told.variant)) return;  // the one in use stays until somebody asks
  if (const auto ready = kernels_->version(file, number))
    take_table(ops::with_new_version(*view_.variants, ready->variant));
}

/// No plan changes.
void Trainer::Worker::take_table(ops::Variants variants) {
  engine_->set_variants(variants);
  view_.variants = std::move(variants);
  variant_history_.note(view_.generation, engine_->steps(), view_.variants);
}

void Trainer::Worker::use_kernel(const std::string& file, int number) {
  if (number == 0) return leave_kernel(file);
  const auto ready = kernel_keeper().version(file, number);
  if (!ready)
    throw core::BadInput(
        fmt::format("version {} of {} is not ready, or not kept", number, files::sayable(file)));
  const ops::Variant& variant = ready->variant;
  const ops::Variant* const before =
      ops::find_variant(*view_.variants, variant.op, variant.device, variant.name);
  const bool chosen = chooses(variant.op, variant.name);
  if (chosen && before != nullptr && before->version == number) return;
  plan::Selection selection = view_.selection;
  std::string& choice = selection.variants[variant.op];
  if (!chosen) chosen_before_[file] = choice;
  choice = variant.name;
  const std::string text = fmt::format("{}, version {}", variant.name, number);
  choose(selection, ops::with_new_version(*view_.variants, variant), "kernel " + text, text);
  mark("kernel " + text);
  keeper_->note_settings();
  publish(true);
}

/// Its op is run by what was chosen before it.
void Trainer::Worker::leave_kernel(const std::string& file) {
  const UserKernel told = kernel_keeper().told_of(file);
  if (!told.op || !chooses(*told.op, told.variant)) return;
  plan::Selection selection = view_.selection;
  const std::string before = chosen_before_[file];
  selection.variants.erase(*told.op);
  if (ops::find_variant(*view_.variants, *told.op, device_->kind(), before) != nullptr)
    selection.variants[*told.op] = before;
  handle_select(selection);
}

void Trainer::Worker::forget_kernel(const std::string& file) {
  const UserKernel told = kernel_keeper().told_of(file);
  leave_kernel(file);
  if (told.op) take_table(ops::without_variant(*view_.variants, *told.op, device_->kind(), told.variant));
  kernels_->forget(file);
  chosen_before_.erase(file);
}

/// The run keeps what it ran.
void Trainer::Worker::note_kernels_that_run() {
  if (!kernels_) return;
  std::vector<runs::KernelFile>& ran = around_.kernels;
  const std::size_t before = ran.size();
  for (const UserKernel& each : view_.user_kernels->kernels) {
    if (!each.op || !chooses(*each.op, each.variant)) continue;
    const ops::Variant* const found =
        ops::find_variant(*view_.variants, *each.op, device_->kind(), each.variant);
    const auto ready = found == nullptr ? std::nullopt : kernels_->version(each.file, found->version);
    if (!ready) continue;
    runs::KernelFile file = ready->file();
    const auto last = std::find_if(ran.rbegin(), ran.rend(), [&](const runs::KernelFile& kept) {
      return kept.op == file.op && kept.variant == file.variant;
    });
    if (last == ran.rend() || last->text != file.text) ran.push_back(std::move(file));
  }
  if (ran.size() != before) keeper_->note_kernels();
}

}  // namespace warpscope::training
