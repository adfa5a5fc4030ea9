#pragma once
// Which files of kernels a person wants in the training: what is dropped, chosen or made anew, and whether that was
// agreed to. Disks are read and written on other threads. No drawing here.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/messages/commands.h"
#include "gpu/messages/snapshot.h"
#include "ui/jobs/background.h"
#include "ui/jobs/kernel_services.h"

namespace warpscope::ui {

/// True of names that end as files of kernels do.
bool is_kernel_file(const std::filesystem::path& file);

/// Something to load.
struct KernelCandidate {
  std::filesystem::path path;
  bool folder = false;  ///< all files in it, now and later
  bool of_run = false;  ///< it lies in the folder of a run: who wrote that wrote it
};
/// Looks at the disk.
KernelCandidate candidate_of(const std::filesystem::path& path);

/// Whether they may be loaded, in a sentence.
std::string question_about(const std::vector<KernelCandidate>& candidates);

/// A file that is to be made.
struct NewKernel {
  ops::Op op{};
  bool cuda = false;
  std::string folder;
  std::string name;  ///< "my_relu.cpp"
  bool operator==(const NewKernel&) const = default;
};
/// For the op that takes the most time of those that people can write kernels of, for the training's device.
NewKernel suggested(const training::Snapshot& snapshot, const KernelServices& services);
/// "my_conv2d_forward.cpp", or with a number where a file of that name is loaded.
std::string suggested_name(ops::Op op, bool cuda, const training::UserKernels& kernels);
std::filesystem::path path_of(const NewKernel& kernel);
/// Why it cannot be made, in a sentence; "" if it can, as far as is known without a look at the disk.
std::string why_not(const NewKernel& kernel, const KernelServices& services,
                    const training::UserKernels& kernels);

/// Why a training on `device` takes no kernel in that language, in a sentence; "" if it does.
std::string why_other_device(bool cuda, const core::DeviceInfo& device);

class OwnKernelsDesk {
 public:
  void serve(KernelServices services) { services_ = std::move(services); }
  const KernelServices& services() const { return services_; }

  /// Loads them: at once where the person has agreed to that in this session and none lies in a run; else question()
  /// asks.
  void take(std::vector<std::filesystem::path> paths);
  /// Makes the file and loads it; the person made it, so nothing is asked.
  void make(const NewKernel& kernel);
  /// Makes a file of the lesson and loads it; each version that is proved runs. One that is there already is taken as
  /// it is, as take() does.
  void make_example(const std::string& name);
  /// True while a file is made or looked at.
  bool busy() const { return looking_.busy() || making_.busy(); }
  /// Between frames: true if something new came.
  bool advance();

  /// "" where nothing is asked.
  const std::string& question() const { return question_; }
  void answer(bool yes);
  /// What is to be sent since the last call.
  std::vector<training::Command> take_commands() { return std::exchange(commands_, {}); }
  /// Why a file could not be made or looked at, in a sentence; "" if nothing went wrong since the last make().
  const std::string& error() const { return error_; }
  /// The file that was made since the last call.
  std::optional<std::filesystem::path> take_made() { return std::exchange(made_, {}); }

 private:
  void load(const std::vector<KernelCandidate>& candidates);

  KernelServices services_;
  bool agreed_ = false;
  std::vector<KernelCandidate> asked_;  ///< question_ is about
  std::string question_;
  std::string error_;
  std::vector<training::Command> commands_;
  std::optional<std::filesystem::path> made_;
  Background<std::vector<KernelCandidate>> looking_;
  struct Made {
    std::filesystem::path file = {};
    bool is_new = true;
    bool applies = false;
  };
  Background<Made> making_;
};

}  // namespace warpscope::ui
