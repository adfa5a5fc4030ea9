#include "gpu/training/worker/kernels_in_use.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {

/// Why this training takes no kernels of users now, or "".
const char* KernelsInUse::why_none() const {
  if (training_.views()) return "a run that is only looked at takes no kernels of your own";
  if (training_.around.ranks) return "kernels of your own run in one process: go on with one rank first";
  return "";
}

/// It begins with the first kernel.
KernelKeeper& KernelsInUse::keeper() {
  if (const std::string why = why_none(); !why.empty()) throw core::BadInput(why);
  if (!kernels_) {
    const user_kernels::LiveKernels& live = training_.around.live_kernels;
    kernels_ = std::make_unique<KernelKeeper>(
        KernelKeeper::Options{training_.device->info(), live.includes, live.workshop, live.forgotten});
    tell_calls();
  }
  return *kernels_;
}

void KernelsInUse::tell_calls() {
  if (!kernels_) return;
  std::vector<KernelCall> calls;
  for (const OpTiming& each : training_.engine->timings().timings())
    calls.push_back({each.op, each.layer, each.shape});
  kernels_->use_calls(std::move(calls));
}

void KernelsInUse::begin() {
  for (const user_kernels::TriedKernel& each : training_.around.live_kernels.tried) {
    const user_kernels::Source& source = each.kernel.source;
    const core::DeviceKind device =
        source.language == user_kernels::Language::cuda ? core::DeviceKind::cuda : core::DeviceKind::cpu;
    const ops::Variant* const variant =
        each.usable() ? ops::find_variant(*training_.view.variants, source.op, device, source.variant)
                      : nullptr;
    const bool asked = std::ranges::find(asked_kernels_, source.variant) != asked_kernels_.end();
    keeper().begin_with(each, variant, asked || chooses(source.op, source.variant));
  }
  const user_kernels::LiveKernels& live = training_.around.live_kernels;
  for (const user_kernels::NamedPlace& each : live.files)
    training_.reporter.attempt([&] { keeper().load(each.path, each.apply_when_proved); });
  for (const user_kernels::NamedPlace& each : live.folders)
    training_.reporter.attempt([&] { keeper().watch(each.path, true, each.apply_when_proved); });
}

bool KernelsInUse::chooses(ops::Op op, const std::string& variant) const {
  const auto chosen = training_.view.selection.variants.find(op);
  return chosen != training_.view.selection.variants.end() && chosen->second == variant;
}

bool KernelsInUse::was_refused(const std::string& variant) {
  for (const user_kernels::TriedKernel& each : training_.around.live_kernels.tried) {
    if (each.kernel.source.variant != variant || each.usable()) continue;
    asked_kernels_.push_back(variant);
    training_.publishing.tell(
        fmt::format("{} is refused, and its operation runs without it until it is right: {}", variant,
                    each.problem.empty() ? user_kernels::refusal(each.kernel) : each.problem));
    return true;
  }
  return false;
}

void KernelsInUse::follow() {
  tell();
  if (!kernels_ || training_.rewinder.running() || training_.stepping.searches_rate()) return;
  note_use();
  const std::vector<KernelKeeper::News> all = kernels_->take_news();
  tell();  // those of the news are known from here on
  for (const KernelKeeper::News& news : all) {
    training_.publishing.log(news.bad ? LogLevel::warning : LogLevel::info, news.text);
    if (news.version > 0) training_.reporter.attempt([&] { take_version(news.file, news.version); });
  }
  note_use();
  tell();
}

void KernelsInUse::tell() {
  auto state = kernels_ ? kernels_->take_state() : nullptr;
  if (!state && training_.view.user_kernels->why_not == why_none()) return;
  auto told = std::make_shared<UserKernels>(state ? *state : *training_.view.user_kernels);
  told->why_not = why_none();
  training_.view.user_kernels = std::move(told);
}

void KernelsInUse::note_use() {
  for (const UserKernel& each : training_.view.user_kernels->kernels) {
    if (!each.op) continue;
    const ops::Variant* const found =
        ops::find_variant(*training_.view.variants, *each.op, training_.device->kind(), each.variant);
    kernels_->note_use(each.file, found == nullptr ? 0 : found->version, chooses(*each.op, each.variant));
  }
}

/// One that is proved: into the training where it is asked for, else to choose from.
void KernelsInUse::take_version(const std::string& file, int number) {
  const UserKernel told = kernels_->told_of(file);
  const bool trains =
      training_.view.state == TrainerState::running || training_.view.state == TrainerState::paused;
  if (told.apply_when_proved && trains) return use(file, number);
  if (told.op && chooses(*told.op, told.variant)) return;  // the one in use stays until somebody asks
  if (const auto ready = kernels_->version(file, number))
    training_.changes.take_table(ops::with_new_version(*training_.view.variants, ready->variant));
}

void KernelsInUse::use(const std::string& file, int number) {
  if (number == 0) return leave(file);
  const auto ready = keeper().version(file, number);
  if (!ready)
    throw core::BadInput(
        fmt::format("version {} of {} is not ready, or not kept", number, files::sayable(file)));
  const ops::Variant& variant = ready->variant;
  const ops::Variant* const before =
      ops::find_variant(*training_.view.variants, variant.op, variant.device, variant.name);
  const bool chosen = chooses(variant.op, variant.name);
  if (chosen && before != nullptr && before->version == number) return;
  plan::Selection selection = training_.view.selection;
  std::string& choice = selection.variants[variant.op];
  if (!chosen) chosen_before_[file] = choice;
  choice = variant.name;
  const std::string text = fmt::format("{}, version {}", variant.name, number);
  training_.changes.choose(selection, ops::with_new_version(*training_.view.variants, variant),
                           "kernel " + text, text);
  training_.mark("kernel " + text);
  training_.keeper->note_settings();
  training_.reporter.publish(true);
}

/// Its op is run by what was chosen before it.
void KernelsInUse::leave(const std::string& file) {
  const UserKernel told = keeper().told_of(file);
  if (!told.op || !chooses(*told.op, told.variant)) return;
  plan::Selection selection = training_.view.selection;
  const std::string before = chosen_before_[file];
  selection.variants.erase(*told.op);
  if (ops::find_variant(*training_.view.variants, *told.op, training_.device->kind(), before) != nullptr)
    selection.variants[*told.op] = before;
  training_.changes.select(selection);
}

void KernelsInUse::forget(const std::string& file) {
  const UserKernel told = keeper().told_of(file);
  leave(file);
  if (told.op)
    training_.changes.take_table(
        ops::without_variant(*training_.view.variants, *told.op, training_.device->kind(), told.variant));
  kernels_->forget(file);
  chosen_before_.erase(file);
}

void KernelsInUse::note_those_that_run() {
  if (!kernels_) return;
  std::vector<runs::KernelFile>& ran = training_.around.kernels;
  const std::size_t before = ran.size();
  for (const UserKernel& each : training_.view.user_kernels->kernels) {
    if (!each.op || !chooses(*each.op, each.variant)) continue;
    const ops::Variant* const found =
        ops::find_variant(*training_.view.variants, *each.op, training_.device->kind(), each.variant);
    const auto ready = found == nullptr ? std::nullopt : kernels_->version(each.file, found->version);
    if (!ready) continue;
    runs::KernelFile file = ready->file();
    const auto last = std::find_if(ran.rbegin(), ran.rend(), [&](const runs::KernelFile& kept) {
      return kept.op == file.op && kept.variant == file.variant;
    });
    if (last == ran.rend() || last->text != file.text || last->headers != file.headers)
      ran.push_back(std::move(file));
  }
  if (ran.size() != before) training_.keeper->note_kernels();
}

}  // namespace warpscope::training
