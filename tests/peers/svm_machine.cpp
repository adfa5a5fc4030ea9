// The RBF SVM, for sklearn_svm.py.
//
// usage: svm_machine ROWS COLUMNS CLASSES C GAMMA [DEVICE] < DATA
//
// DEVICE: cpu (the default) or cuda:0. Reads ROWS x COLUMNS floats, then ROWS labels of 32 bits, as bytes. GAMMA:
// scale, auto or a number. Prints gamma, for each pair of classes the objective and rho, then for each row its class
// and the decision values of all pairs.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gpu/classifiers/rbf_svm/rbf_svm.h"

int main(int argc, char** argv) {
  using namespace warpscope;
  if (argc != 6 && argc != 7) return 2;
  const std::size_t rows = std::strtoul(argv[1], nullptr, 10);
  const std::size_t columns = std::strtoul(argv[2], nullptr, 10);
  std::vector<float> values(rows * columns);
  std::vector<int> labels(rows);
  if (std::fread(values.data(), sizeof(float), values.size(), stdin) != values.size()) return 2;
  if (std::fread(labels.data(), sizeof(int), labels.size(), stdin) != labels.size()) return 2;
  const std::shared_ptr<core::Device> device = core::open_device(argc == 7 ? argv[6] : "cpu");
  const std::unique_ptr<core::Stream> stream = device->make_stream();
  const classifiers::Place place{device, stream.get()};
  const core::Buffer held(device, values.size() * sizeof(float));
  stream->copy(held.data(), values.data(), held.bytes());
  const classifiers::FeatureMatrix features{static_cast<const float*>(held.data()),
                                            static_cast<std::int64_t>(rows), static_cast<int>(columns)};
  classifiers::RbfSvmOptions options;
  options.c = std::atof(argv[4]);
  const std::string gamma = argv[5];
  if (gamma == "auto") {
    options.gamma_rule = classifiers::GammaRule::automatic;
  } else if (gamma != "scale") {
    options.gamma_rule = classifiers::GammaRule::number;
    options.gamma = std::atof(argv[5]);
  }
  const auto machine =
      classifiers::make_rbf_svm_problem(place, {features, labels, std::atoi(argv[3])})->fit(options);
  const std::size_t pairs = machine->model().pairs();
  std::printf("%.17g\n", machine->model().gamma);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    std::printf("%.17g %.17g\n", machine->pairs()[pair].objective, machine->model().rho[pair]);
  }
  const std::vector<int> found = machine->predict(place, features).labels;
  const std::vector<float> decisions = machine->decisions(place, features);
  for (std::size_t row = 0; row < rows; ++row) {
    std::printf("%d", found[row]);
    for (std::size_t pair = 0; pair < pairs; ++pair)
      std::printf(" %.9g", static_cast<double>(decisions[row * pairs + pair]));
    std::printf("\n");
  }
  return 0;
}
