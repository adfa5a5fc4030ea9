// The rates of a schedule, for torch_schedules.py.
//
// usage: schedule_rates SCHEDULE BASE_RATE TOTAL_EPOCHS < NUMBERS
//
// Prints the rate at each epoch read; for plateau after each loss read.

#include <cstdio>
#include <exception>
#include <iostream>

#include "gpu/core/error.h"
#include "gpu/settings/numbers.h"
#include "gpu/settings/schedule.h"

namespace {

namespace training = warpscope::training;

double number(const char* text) {
  const std::optional<double> value = training::parse_number(text);
  if (!value.has_value()) throw warpscope::core::BadInput(std::string(text) + " is not a number");
  return *value;
}

void print_rates(const training::Schedule& schedule, double base_rate, double total_epochs) {
  training::PlateauState state;
  double value = 0;
  while (std::cin >> value) {
    double rate = 0;
    if (schedule.kind == training::ScheduleKind::plateau) {
      state = training::observe(schedule, state, base_rate, value);
      rate = training::rate_at(schedule, state, base_rate);
    } else {
      rate = training::rate_at(schedule, base_rate, value, total_epochs);
    }
    std::printf("%.17g\n", rate);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: schedule_rates SCHEDULE BASE_RATE TOTAL_EPOCHS < NUMBERS\n", stderr);
    return 2;
  }
  try {
    print_rates(training::parse_schedule(argv[1]), number(argv[2]), number(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
