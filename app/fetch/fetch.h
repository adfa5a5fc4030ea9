#pragma once
// Downloads CIFAR-10 and MNIST.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpu/core/error.h"

namespace warpscope::data {

/// What is downloaded, and from where. The defaults are the binary version of CIFAR-10 on its official page
/// (https://www.cs.toronto.edu/~kriz/cifar.html), with the checksum that is given there.
struct FetchSource {
  std::string url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";  ///< http, https or file
  std::string md5 = "c32a1d4ab5d03f1284b67883e8d87530";  ///< of the archive, lower case
  std::string folder = "cifar-10-batches-bin";           ///< the folder in the archive
};

/// One of the files of MNIST.
struct MnistFile {
  std::string name;
  std::string md5;         ///< lower case
  std::int64_t bytes = 0;  ///< for the progress alone
};

/// The four files of MNIST as first published, and where they are: the first mirror that has a file serves it. The
/// addresses are those of torchvision's and of Google's copies, the checksums those of the original site.
struct MnistSource {
  std::vector<std::string> mirrors{"https://ossci-datasets.s3.amazonaws.com/mnist/",
                                   "https://storage.googleapis.com/cvdf-datasets/mnist/"};
  std::vector<MnistFile> files{
      {"train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9'912'422},
      {"train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28'881},
      {"t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 1'648'877},
      {"t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4'542},
  };
};

enum class FetchPhase : std::uint8_t { download, check, unpack };

struct FetchProgress {
  FetchPhase phase = FetchPhase::download;
  std::int64_t done_bytes = 0;
  std::int64_t total_bytes = 0;  ///< 0 while unknown
};

/// Called every now and then, on the calling thread. Returns false to cancel.
using FetchCallback = std::function<bool(const FetchProgress&)>;

/// The callback returned false. What was downloaded so far is kept, and the next fetch goes on from there.
class Cancelled : public core::Error {
 public:
  using Error::Error;
};

/// Downloads the archive to a `.part` file in `destination` (made if absent), checks it and unpacks it to
/// `destination`/cifar-10-batches-bin, which appears only when it is whole. Returns that folder.
///
/// If it is there already and whole, nothing is downloaded. A `.part` file left by an earlier fetch is
/// resumed; where the server cannot resume, the download starts again. The archive is removed at the end. An
/// archive with a path that leads out of `destination`, a link or a special file is refused whole; what it
/// holds beside `folder` is dropped.
///
/// Throws BadInput if `destination` cannot be written, holds something else under that name, or is in use by
/// another fetch; Cancelled; Error, in one sentence, if there is no network, the server answers with an
/// error, the checksum is wrong (the `.part` file is then removed), the disk is full or the archive is not
/// what it should be.
std::filesystem::path fetch_cifar10(const std::filesystem::path& destination,
                                    const FetchCallback& progress = {}, const FetchSource& source = {});

/// Downloads the files of MNIST, each to a `.part` file in `destination` (made if absent), checks them and moves them to
/// `destination`/mnist, packed as they are. That folder appears only when it is whole. Returns it.
///
/// If it is there already and whole, nothing is downloaded. `.part` files left by an earlier fetch are resumed. A mirror
/// that cannot be reached, answers with an error or sends something else than the file is left for the next one.
///
/// Throws as fetch_cifar10 does; of several mirrors the last one's error.
std::filesystem::path fetch_mnist(const std::filesystem::path& destination,
                                  const FetchCallback& progress = {}, const MnistSource& source = {});

}  // namespace warpscope::data
