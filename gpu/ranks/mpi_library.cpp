#include "gpu/ranks/mpi_library.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

namespace warpscope::ranks {
namespace {

constexpr int kTag = 0;
// Calls come from several threads, one at a time. More (MPI_THREAD_MULTIPLE) costs speed and is missing in some builds.
constexpr int kThreadSerialized = 2;

// What the headers of a family would say.
template <class Handle>
struct Constants {
  Handle world;
  Handle byte;
  Handle errors_return;
  void* ignored_status;
  int any_source;
};

template <class Handle>
struct Calls {
  int (*init_thread)(int*, char***, int, int*);
  int (*finalize)();
  int (*abort)(Handle, int);
  int (*error_string)(int, char*, int*);
  int (*comm_rank)(Handle, int*);
  int (*comm_size)(Handle, int*);
  int (*comm_idup)(Handle, Handle*, Handle*);
  int (*comm_set_errhandler)(Handle, Handle);
  int (*isend)(const void*, int, Handle, int, int, Handle, Handle*);
  int (*irecv)(void*, int, Handle, int, int, Handle, Handle*);
  int (*iallgather)(const void*, int, Handle, void*, int, Handle, Handle, Handle*);
  int (*ialltoall)(const void*, int, Handle, void*, int, Handle, Handle, Handle*);
  int (*test)(Handle*, int*, void*);
  int (*wait)(Handle*, void*);
  int (*cancel)(Handle*);
};

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr)
    throw core::Error(
        fmt::format("The MPI library that was found has no {}: use one that knows MPI 3", name));
}

template <class Handle>
Calls<Handle> find_calls(void* library) {
  Calls<Handle> calls{};
  find(library, "MPI_Init_thread", calls.init_thread);
  find(library, "MPI_Finalize", calls.finalize);
  find(library, "MPI_Abort", calls.abort);
  find(library, "MPI_Error_string", calls.error_string);
  find(library, "MPI_Comm_rank", calls.comm_rank);
  find(library, "MPI_Comm_size", calls.comm_size);
  find(library, "MPI_Comm_idup", calls.comm_idup);
  find(library, "MPI_Comm_set_errhandler", calls.comm_set_errhandler);
  find(library, "MPI_Isend", calls.isend);
  find(library, "MPI_Irecv", calls.irecv);
  find(library, "MPI_Iallgather", calls.iallgather);
  find(library, "MPI_Ialltoall", calls.ialltoall);
  find(library, "MPI_Test", calls.test);
  find(library, "MPI_Wait", calls.wait);
  find(library, "MPI_Cancel", calls.cancel);
  return calls;
}

// Open MPI's handles are the addresses of its objects.
Constants<void*> open_mpi_constants(void* library) {
  const auto address = [library](const char* name) {
    void* found = dlsym(library, name);
    if (found == nullptr)
      throw core::Error(fmt::format("The Open MPI that was found has no {}: use version 2 or newer", name));
    return found;
  };
  return {.world = address("ompi_mpi_comm_world"),
          .byte = address("ompi_mpi_byte"),
          .errors_return = address("ompi_mpi_errors_return"),
          .ignored_status = nullptr,
          .any_source = -1};
}

// The numbers on which MPICH, Intel MPI, MVAPICH and Cray MPICH have agreed.
Constants<int> mpich_constants() {
  return {.world = 0x44000000,
          .byte = 0x4c00010d,
          .errors_return = 0x54000001,
          .ignored_status = reinterpret_cast<void*>(std::uintptr_t{1}),
          .any_source = -2};
}

// In one line, without control characters.
std::string printable(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string line;
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7f) {
      line += fmt::format("\\x{:02x}", code);
    } else {
      line += letter;
    }
  }
  return line;
}

int count_of(std::size_t bytes) {
  return static_cast<int>(bytes);
}

template <class Handle>
class MpiOf final : public Mpi {
  static_assert(std::is_trivially_copyable_v<Handle> && sizeof(Handle) <= sizeof(MpiRequest::handle));

 public:
  MpiOf(const Constants<Handle>& constants, const Calls<Handle>& calls)
      : constants_(constants), calls_(calls) {}

  Place start() override {
    int threads = 0;
    check(calls_.init_thread(nullptr, nullptr, kThreadSerialized, &threads), "start");
    if (threads < kThreadSerialized) {
      throw core::Error("This MPI allows calls from one thread only: use one that was built with threads");
    }
    // All channels inherit it.
    check(calls_.comm_set_errhandler(constants_.world, constants_.errors_return), "start");
    Place place;
    check(calls_.comm_rank(constants_.world, &place.rank), "start");
    check(calls_.comm_size(constants_.world, &place.size), "start");
    size_ = place.size;
    return place;
  }
  MpiRequest add_channel() override {
    Handle request{};
    check(calls_.comm_idup(constants_.world, &channels_.emplace_back(), &request), "add a channel");
    return hidden(request);
  }

  MpiRequest send(int channel, int rank, std::span<const std::byte> message) override {
    Handle request{};
    check(calls_.isend(message.data(), count_of(message.size()), constants_.byte, rank, kTag, of(channel),
                       &request),
          "send");
    return hidden(request);
  }
  MpiRequest receive(int channel, int rank, std::span<std::byte> message) override {
    Handle request{};
    check(calls_.irecv(message.data(), count_of(message.size()), constants_.byte, rank, kTag, of(channel),
                       &request),
          "receive");
    return hidden(request);
  }
  MpiRequest receive_from_any(int channel, std::span<std::byte> message) override {
    return receive(channel, constants_.any_source, message);
  }
  MpiRequest all_gather(int channel, std::span<const std::byte> mine, std::span<std::byte> all) override {
    Handle request{};
    const int count = count_of(mine.size());
    check(calls_.iallgather(mine.data(), count, constants_.byte, all.data(), count, constants_.byte,
                            of(channel), &request),
          "gather");
    return hidden(request);
  }
  MpiRequest all_to_all(int channel, std::span<const std::byte> to, std::span<std::byte> from) override {
    Handle request{};
    const int count = count_of(to.size()) / size_;
    check(calls_.ialltoall(to.data(), count, constants_.byte, from.data(), count, constants_.byte,
                           of(channel), &request),
          "exchange");
    return hidden(request);
  }

  bool done(MpiRequest& request) override {
    Handle handle = shown(request);
    int flag = 0;
    const int code = calls_.test(&handle, &flag, constants_.ignored_status);
    request = hidden(handle);
    check(code, "move bytes");
    return flag != 0;
  }
  void cancel(MpiRequest& request) override {
    Handle handle = shown(request);
    check(calls_.cancel(&handle), "cancel a receive");
    check(calls_.wait(&handle, constants_.ignored_status), "cancel a receive");
    request = hidden(handle);
  }

  void finalize() override { check(calls_.finalize(), "end"); }
  [[noreturn]] void abort(int code) override {
    calls_.abort(constants_.world, code);
    _exit(code);
  }

 private:
  Handle of(int channel) const {
    return channel == kFirstChannel ? constants_.world : channels_[static_cast<std::size_t>(channel)];
  }

  static MpiRequest hidden(Handle handle) {
    MpiRequest request;
    std::memcpy(&request.handle, &handle, sizeof handle);
    return request;
  }
  static Handle shown(const MpiRequest& request) {
    Handle handle;
    std::memcpy(&handle, &request.handle, sizeof handle);
    return handle;
  }

  void check(int code, const char* what) const {
    if (code == 0) return;
    std::array<char, 4096> text{};  // more than MPI_MAX_ERROR_STRING of any library
    int length = 0;
    const bool known = calls_.error_string(code, text.data(), &length) == 0;
    throw core::Error(fmt::format(
        "MPI could not {}: {}", what,
        known ? printable({text.data(), static_cast<std::size_t>(length)}) : fmt::format("error {}", code)));
  }

  Constants<Handle> constants_;
  Calls<Handle> calls_;
  std::deque<Handle> channels_;  ///< MPI fills one in when it is there, so none moves
  int size_ = 1;
};

// Most builds of Open MPI do not speak the PMI of srun, and end the process with two pages where they are started by
// it.
void require_pmi(void* library) {
  Dl_info info{};
  const void* const known = dlsym(library, "ompi_mpi_comm_world");
  std::error_code unknown;
  std::filesystem::path folder;
  if (dladdr(known, &info) != 0) folder = std::filesystem::canonical(info.dli_fname, unknown).parent_path();
  for (const char* parts : {"openmpi", "openmpi3"}) {
    for (const char* part : {"mca_pmix_s1.so", "mca_pmix_s2.so"}) {
      if (std::filesystem::exists(folder / parts / part, unknown)) return;
    }
  }
  if (dlsym(RTLD_DEFAULT, "mca_pmix_s2_component") != nullptr) return;
  throw core::Error(
      "srun started this rank by PMI, which the Open MPI on this machine does not speak: give --mpi=pmix to "
      "srun, or "
      "use --mpi=none and --meet FOLDER, or MPICH");
}

}  // namespace

std::unique_ptr<Mpi> open_mpi(bool prefer_mpich) {
  // libmpi.so.12 is what MPICH's kin agreed on; Debian's MPICH is libmpich.so.12.
  static constexpr std::array<const char*, 4> kOpenMpiFirst = {"libmpi.so.40", "libmpi.so.12", "libmpi.so",
                                                               "libmpich.so.12"};
  static constexpr std::array<const char*, 4> kMpichFirst = {"libmpi.so.12", "libmpich.so.12", "libmpi.so",
                                                             "libmpi.so.40"};
  for (const char* name : prefer_mpich ? kMpichFirst : kOpenMpiFirst) {
    // Global, since Open MPI's plugins look for its symbols there. Never closed: its threads may outlive every use.
    void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) continue;
    if (dlsym(library, "ompi_mpi_comm_world") != nullptr) {
      if (prefer_mpich && std::getenv("SLURM_STEP_ID") != nullptr) require_pmi(library);
      return std::make_unique<MpiOf<void*>>(open_mpi_constants(library), find_calls<void*>(library));
    }
    return std::make_unique<MpiOf<int>>(mpich_constants(), find_calls<int>(library));
  }
  throw core::Error(
      "This rank was started by MPI, but no MPI library is on this machine (libmpi.so.40, libmpi.so.12, "
      "libmpi.so): "
      "install one, or name its folder in LD_LIBRARY_PATH");
}

}  // namespace warpscope::ranks
