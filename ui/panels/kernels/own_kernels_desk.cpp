#include "ui/panels/kernels/own_kernels_desk.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "gpu/files/text.h"
#include "gpu/runs/run_reader.h"
#include "ui/panels/kernels/kernel_cells.h"
#include "ui/panels/kernels/own_kernels_rows.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLessonFolder = "warpscope_lesson";  // in the folder that the program was started in

constexpr std::array<std::string_view, 4> kKernelEnds{".cpp", ".cc", ".cxx", ".cu"};
constexpr int kDepthOfRun = 2;  // RUN/kernels/FILE

std::string told(const fs::path& path) {
  return files::sayable(path.filename().empty() ? path.string() : path.filename().string());
}

const OpForKernels* find_op(const KernelServices& services, ops::Op op) {
  const auto found = std::ranges::find(services.ops, op, &OpForKernels::op);
  return found == services.ops.end() ? nullptr : &*found;
}

}  // namespace

bool is_kernel_file(const fs::path& file) {
  return std::ranges::find(kKernelEnds, file.extension().string()) != kKernelEnds.end();
}

KernelCandidate candidate_of(const fs::path& path) {
  KernelCandidate candidate{.path = path};
  std::error_code error;
  candidate.folder = fs::is_directory(path, error);
  fs::path folder = fs::weakly_canonical(path, error);
  if (!candidate.folder) folder = folder.parent_path();
  for (int depth = 0; depth < kDepthOfRun && !folder.empty() && !candidate.of_run; ++depth) {
    candidate.of_run = runs::is_run(folder);
    folder = folder.parent_path();
  }
  return candidate;
}

std::string question_about(const std::vector<KernelCandidate>& candidates) {
  if (candidates.empty()) return "";
  const bool several = candidates.size() > 1;
  const KernelCandidate& first = candidates.front();
  std::string what = several ? fmt::format("{} files are", candidates.size()) : told(first.path) + " is";
  if (first.folder) what = fmt::format("Each kernel in {}, now and later, is", told(first.path));
  const bool of_run = std::ranges::any_of(candidates, &KernelCandidate::of_run);
  return fmt::format(
      "{} code that will run with your rights{}: load {} only if you would start {} as a program.", what,
      of_run ? ", and was written by whoever wrote that run" : "", several ? "them" : "it",
      several ? "them" : "it");
}

std::string suggested_name(ops::Op op, bool cuda, const training::UserKernels& kernels) {
  std::string stem = fmt::format("my_{}", ops::to_string(op));
  std::ranges::replace(stem, '.', '_');
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::any_of(kernels.kernels, [&](const training::UserKernel& each) {
      return fs::path(each.file).stem() == name;
    });
  };
  std::string name = stem;
  for (int number = 2; is_taken(name); ++number) name = fmt::format("{}_{}", stem, number);
  return name + (cuda ? ".cu" : ".cpp");
}

NewKernel suggested(const training::Snapshot& snapshot, const KernelServices& services) {
  NewKernel kernel;
  std::error_code error;
  kernel.folder = fs::current_path(error).string();
  kernel.cuda = snapshot.device.kind == core::DeviceKind::cuda;
  const auto offered =
      std::ranges::find_if(services.ops, [](const OpForKernels& row) { return row.why_not.empty(); });
  if (offered != services.ops.end()) kernel.op = offered->op;
  const std::vector<KernelRow> rows = kernel_rows(snapshot.timings);
  for (const ops::Op op : ops_by_time(rows)) {
    const OpForKernels* const row = find_op(services, op);
    if (row == nullptr || !row->why_not.empty()) continue;
    kernel.op = op;
    break;
  }
  kernel.name = suggested_name(kernel.op, kernel.cuda, *snapshot.user_kernels);
  return kernel;
}

fs::path path_of(const NewKernel& kernel) {
  return fs::path(kernel.folder) / kernel.name;
}

std::string why_not(const NewKernel& kernel, const KernelServices& services,
                    const training::UserKernels& kernels) {
  if (!services.write_new) return "This window makes no files.";
  const OpForKernels* const row = find_op(services, kernel.op);
  if (row == nullptr || !row->why_not.empty()) {
    return fmt::format("Nobody can write kernels of {}{}.", ops::to_string(kernel.op),
                       row == nullptr ? "" : ": " + row->why_not);
  }
  if (kernel.name.empty()) return "Name the file.";
  if (fs::path(kernel.name).has_parent_path()) return "Name the file only; its folder stands above.";
  const std::string end = kernel.cuda ? ".cu" : ".cpp";
  if (fs::path(kernel.name).extension() != end || fs::path(kernel.name).stem().empty())
    return fmt::format("The name ends in {}, as in mine{}.", end, end);
  const bool loaded = std::ranges::any_of(kernels.kernels, [&](const training::UserKernel& each) {
    return fs::path(each.file) == path_of(kernel);
  });
  return loaded ? "That file is loaded already; name another." : "";
}

std::string why_other_device(bool cuda, const core::DeviceInfo& device) {
  const bool gpu = device.kind == core::DeviceKind::cuda;
  if (cuda == gpu) return "";
  return gpu ? "This training runs on a GPU, for which kernels are written in CUDA."
             : "This training runs on the CPU, for which kernels are written in C++.";
}

void OwnKernelsDesk::take(std::vector<fs::path> paths) {
  error_.clear();
  looking_.ask([paths = std::move(paths)](const data::Stopped&) {
    std::vector<KernelCandidate> candidates;
    for (const fs::path& path : paths) candidates.push_back(candidate_of(path));
    return candidates;
  });
}

void OwnKernelsDesk::make(const NewKernel& kernel) {
  error_.clear();
  making_.ask([write = services_.write_new, op = kernel.op, file = path_of(kernel)](const data::Stopped&) {
    write(op, file);
    return Made{file};
  });
}

void OwnKernelsDesk::make_example(const std::string& name) {
  error_.clear();
  making_.ask([write = services_.write_example, name](const data::Stopped&) {
    Made made{.applies = true};
    made.file = write(name, fs::current_path() / kLessonFolder, made.is_new);
    return made;
  });
}

bool OwnKernelsDesk::advance() {
  bool newer = false;
  if (auto looked = looking_.take()) {
    newer = true;
    error_ = std::move(looked->error);
    const auto candidates = looked->result.value_or(std::vector<KernelCandidate>{});
    const bool asks = !agreed_ || std::ranges::any_of(candidates, &KernelCandidate::of_run);
    if (asks) {
      asked_ = candidates;
      question_ = question_about(candidates);
    } else {
      load(candidates);
    }
  }
  if (auto made = making_.take()) {
    newer = true;
    error_ = std::move(made->error);
    if (made->result && !made->result->is_new) {
      take({made->result->file});
    } else if (made->result) {
      commands_.emplace_back(training::LoadKernel{made->result->file.string(), made->result->applies});
      made_ = std::move(made->result->file);
    }
  }
  return newer;
}

void OwnKernelsDesk::answer(bool yes) {
  if (yes) {
    agreed_ = true;
    load(asked_);
  }
  asked_.clear();
  question_.clear();
}

void OwnKernelsDesk::load(const std::vector<KernelCandidate>& candidates) {
  for (const KernelCandidate& each : candidates) {
    if (each.folder) {
      commands_.emplace_back(training::WatchKernels{each.path.string()});
    } else {
      commands_.emplace_back(training::LoadKernel{each.path.string()});
    }
  }
}

}  // namespace warpscope::ui
