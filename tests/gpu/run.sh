#!/usr/bin/env bash
# Everything that needs a GPU, in one go: variants against the reference, compute-sanitizer, the loss curves of all
# variants against PyTorch, training on images, and the window with both image paths.
#
#   tests/gpu/run.sh BUILD [OUT] [PART...]      parts: ops sanitizer curve train window (default: all)
#
# BUILD holds a build with CUDA for this GPU; OUT (default: gpu-results) gets logs, runs and screenshots. A part whose
# means are missing (compute-sanitizer, PyTorch, a display) says so and counts as skipped. Prints a summary; the exit code is
# the number of parts that failed.
set -uo pipefail
build=$(cd "${1:?usage: run.sh BUILD [OUT] [PART...]}" && pwd)
out=${2:-gpu-results}
shift $(($# > 1 ? 2 : 1))
parts=${*:-ops sanitizer curve train window}
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
summary=""
failed=0

verdict() { # name, exit code
  case $2 in
    0) summary+="$1: passed"$'\n' ;;
    77) summary+="$1: skipped"$'\n' ;;
    *) summary+="$1: FAILED ($2)"$'\n'; failed=$((failed + 1)) ;;
  esac
}

part_ops() {
  "$build"/tests/test_ops --gtest_filter='*cuda*' --gtest_brief=1 >"$out/ops.log" 2>&1
  local code=$?
  tail -n 4 "$out/ops.log"
  return $code
}

part_sanitizer() {
  command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer"; return 77; }
  local code=0
  for tool in memcheck racecheck initcheck synccheck; do
    WARPSCOPE_TEST_SHAPES=few timeout 150 compute-sanitizer --tool "$tool" --error-exitcode 9 --launch-timeout 60 \
      "$build"/tests/test_ops --gtest_filter='*cuda*' --gtest_brief=1 >"$out/sanitizer-$tool.log" 2>&1
    local result=$?
    echo "$tool: exit $result, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/sanitizer-$tool.log" | tail -n 1)"
    [ $result -eq 0 ] || code=1
  done
  return $code
}

part_curve() {
  python3 "$here"/tests/peers/torch_curve.py "$build"/warpscope 50 64 2>&1 | tee "$out/curve.log"
  return "${PIPESTATUS[0]}"
}

part_train() {
  local code=0
  for select in all=naive all=implicit_gemm; do
    local run="$out/run-${select#all=}"
    rm -rf "$run"
    local steps=(--epochs 1)
    [ "$select" = all=naive ] && steps=(--steps 100)
    "$build"/warpscope train --device cuda:0 --select "$select" "${steps[@]}" --run-dir "$run" >"$out/train-${select#all=}.log" 2>&1 || code=1
    tail -n 7 "$out/train-${select#all=}.log"
    gzip -f "$run/metrics.jsonl"
  done
  return $code
}

part_window() {
  [ -n "${DISPLAY:-}" ] || { echo "no display"; return 77; }
  local code=0
  for vendor in nvidia mesa; do
    local trace="$out/trace-$vendor.jsonl"
    rm -f "$trace"
    __GLX_VENDOR_LIBRARY_NAME=$vendor WARPSCOPE_UI_TRACE=$trace timeout 90 "$build"/warpscope --device cuda:0 \
      --window-size 1600x1000 --exit-after-steps 3000 --screenshot "$out/window-$vendor.png" >"$out/window-$vendor.log" 2>&1 || code=1
    local expected=shared
    [ $vendor = mesa ] && expected=copied
    local seen
    seen=$(grep '"images"' "$trace" | tail -n 1)
    echo "$vendor: $seen"
    grep -q "\"path\":\"$expected\"" <<<"$seen" || { echo "expected the $expected path"; code=1; }
    [ $expected = copied ] || grep -q '"image_bytes_to_host":0[,}]' <<<"$seen" || { echo "image bytes were read back"; code=1; }
  done
  return $code
}

for part in $parts; do
  echo "== $part"
  start=$(date +%s)
  "part_$part"
  code=$?
  verdict "$part ($(($(date +%s) - start)) s)" $code
done
echo "== summary"
printf '%s' "$summary"
exit $failed
