#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/fetch/fetch.h"

namespace warpscope::fetch {

std::span<const Source> sources() {
  static const std::vector<Source> rows{
      // The binary version on the official page, https://www.cs.toronto.edu/~kriz/cifar.html, with the
      // checksum given there.
      {.data_set = "cifar10",
       .mirrors = {"https://www.cs.toronto.edu/~kriz/"},
       .files = {{"cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"}},
       .archive_folder = "cifar-10-batches-bin"},
      // The same page's binary version of CIFAR-100, with the checksum given there.
      {.data_set = "cifar100",
       .mirrors = {"https://www.cs.toronto.edu/~kriz/"},
       .files = {{"cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"}},
       .archive_folder = "cifar-100-binary"},
      // As first published, from torchvision's and Google's copies, with the checksums of the original site.
      {.data_set = "mnist",
       .mirrors = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                   "https://storage.googleapis.com/cvdf-datasets/mnist/"},
       .files = {{"train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9'912'422},
                 {"train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28'881},
                 {"t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 1'648'877},
                 {"t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4'542}}},
      // Addresses and checksums of its page, https://github.com/zalandoresearch/fashion-mnist. The server has
      // no https; the checksums tell whether something else came.
      {.data_set = "fashion_mnist",
       .mirrors = {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"},
       .files = {{"train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26'421'880},
                 {"train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe", 29'515},
                 {"t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79", 4'422'102},
                 {"t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310", 5'148}}},
  };
  return rows;
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const Source& row : sources()) found.push_back(row.data_set);
  return found;
}

const Source& find_source(std::string_view data_set) {
  const std::span<const Source> rows = sources();
  const auto found = std::ranges::find_if(rows, [&](const Source& row) { return row.data_set == data_set; });
  if (found != rows.end()) return *found;
  throw core::BadInput(fmt::format("unknown data set '{}'; valid: {}", data_set, fmt::join(names(), ", ")));
}

}  // namespace warpscope::fetch
