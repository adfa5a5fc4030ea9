#include "gpu/data/cifar10.h"

#include <array>

#include "gpu/data/cifar_records.h"

namespace warpscope::data {
namespace {

constexpr std::int64_t kFileRecords = 10'000;
constexpr std::array kFiles{
    CifarFile{"data_batch_1.bin", kFileRecords}, CifarFile{"data_batch_2.bin", kFileRecords},
    CifarFile{"data_batch_3.bin", kFileRecords}, CifarFile{"data_batch_4.bin", kFileRecords},
    CifarFile{"data_batch_5.bin", kFileRecords}, CifarFile{"test_batch.bin", kFileRecords}};
constexpr CifarForm kForm{
    .title = "CIFAR-10", .files = kFiles, .label_bytes = 1, .classes = 10, .names = "batches.meta.txt"};

}  // namespace

bool holds_cifar10(const std::filesystem::path& folder) {
  return holds_cifar(kForm, folder);
}

bool cifar10_is_complete(const std::filesystem::path& folder) noexcept {
  return cifar_is_complete(kForm, folder);
}

DataSet load_cifar10(const SetRow& row, const std::filesystem::path& folder, const Requirements&,
                     const Stopped&) {
  return load_cifar(kForm, row, folder);
}

}  // namespace warpscope::data
