#include "ui/terms.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace warpscope::ui {
namespace {

constexpr std::array kTerms{
    Term{"Accuracy", "The share of images whose most probable class is the true one."},
    Term{"Activation", "What a layer of the network puts out for an image."},
    Term{"Batch", "The images of one training step, whose mean gradient makes the update."},
    Term{"Bench", "Times every variant of an operation by itself, on the shapes of the training step."},
    Term{"Channel", "One of the planes of numbers that a layer puts out, made by one filter."},
    Term{"Clipping",
         "Shortens a gradient that is longer than a limit, so that one odd batch cannot spoil the weights."},
    Term{"Confusion", "Counts, for each true class, how often the network chose each class."},
    Term{"Curves",
         "One metric of every training step, with the tests, the changes that were made and earlier runs."},
    Term{"Determinism",
         "Runs the same step twice and compares the bits: variants that use atomics may differ."},
    Term{"Distributions",
         "How the weights, activations, gradients and updates of each layer are spread over the steps."},
    Term{"Epoch", "One pass over all training images."},
    Term{"Filter",
         "The weights with which a convolution looks at each place of its input to make one channel."},
    Term{"Finder",
         "Raises the learning rate step by step and suggests one from where the loss falls fastest."},
    Term{"Floor",
         "The least time that the device could take: products at its peak rate or bytes at its peak "
         "bandwidth."},
    Term{"GB/s", "Billions of bytes that an operation reads and writes in a second."},
    Term{"Gradient norm",
         "The length of the gradient over all parameters, which tells how steep the loss is."},
    Term{"Images", "Images that the network never trains on, what it makes of them, and the difference."},
    Term{"Kernels",
         "The operations of a training step: which variant runs each, how long, and how near the floor."},
    Term{"Ladder", "Lists what was tried in this run, with its speed beside that of the first."},
    Term{"Latent", "What the encoder makes of an image: the numbers from which the decoder draws it again."},
    Term{"Learning rate", "How far the weights move along the gradient in a step."},
    Term{"Loss",
         "The number that training makes smaller: how far the network's answers are from the right ones."},
    Term{"Loss scale",
         "A factor that keeps small gradients from vanishing in FP16, taken out again before the update."},
    Term{"Memory", "What the plan of a step holds over its course, and what other choices would need."},
    Term{"Network", "What each layer makes of an image, the filters, and the sum behind a single number."},
    Term{"Occupancy", "The share of the threads a multiprocessor can hold that a kernel keeps there."},
    Term{"Optimizer", "The rule that makes an update of the weights from a gradient."},
    Term{"Plan",
         "The launches of a step and the memory they use, made for a network, a batch and a selection."},
    Term{"Predictions",
         "Images that the network never trains on with the classes it gives them, the worst first."},
    Term{"PSNR",
         "How close a picture is to the original, in decibels: 10 dB more is a tenth of the squared error."},
    Term{"Results", "The figures of this training so far."},
    Term{"Roofline",
         "A chart of speed over products per byte, whose roof is what the device can do at most."},
    Term{"Runs", "Earlier trainings of this folder, whose curves can be laid over the present ones."},
    Term{"Schedule", "How the learning rate changes over the training."},
    Term{"Selection", "Which variant runs each operation, and the precision."},
    Term{"Share", "The part of the step's time that an operation takes."},
    Term{"TFLOP/s", "Trillions of additions and multiplications of floating-point numbers in a second."},
    Term{"Time", "The step as a timeline of its launches, as it is and before the last switch."},
    Term{"Training", "Learning rate, batch, optimizer and schedule, which can be changed while it trains."},
    Term{"Update ratio", "The length of an update over that of the weights: about a thousandth is usual."},
    Term{"Variant", "One implementation of an operation, from a plain loop to tensor cores."},
    Term{"Verify", "Holds every variant against a reference in double precision."},
    Term{"Workspace", "Memory that a variant needs beside its operands while it runs."},
};

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

}  // namespace

std::span<const Term> terms() {
  return kTerms;
}

std::string_view explain(std::string_view term) {
  const auto* const found = std::find_if(kTerms.begin(), kTerms.end(), [term](const Term& row) {
    const std::string_view name(row.name);
    return std::equal(name.begin(), name.end(), term.begin(), term.end(), same);
  });
  return found == kTerms.end() ? std::string_view() : found->sentence;
}

}  // namespace warpscope::ui
