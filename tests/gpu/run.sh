#!/usr/bin/env bash
# Everything that needs a GPU, in one go: every variant against the reference, compute-sanitizer, random live switches,
# whole steps of every network under memcheck, the loss curves and networks in files against PyTorch, their accuracy,
# the benchmark, training on images in every precision, optimizers and runs that are gone on with, classifiers and maps
# of features, how soon a past step is there again, the window with every image path, how fast its views answer, and the
# speed of all presets against a build of the parent commit ($PARENT: its warpscope).
#
#   tests/gpu/run.sh BUILD [OUT] [PART...]
#                         parts (default: all): proof steps curve networks epochs bench speed network_speed accuracy
#                         train watch half runs features tables ranks memory kernels rewinds window views parent
#
# BUILD holds a build with CUDA for this GPU; OUT (default: gpu-results) gets logs, runs and screenshots. A part whose
# means are missing (compute-sanitizer, PyTorch, a display) says so and counts as skipped. CSV=docs/measurements writes
# the figures into its tables (docs/adding.md); SEEDS=1,2,3 trains for accuracy with each. Prints a summary; the exit
# code is the number of parts that failed.
set -uo pipefail
build=$(cd "${1:?usage: run.sh BUILD [OUT] [PART...]}" && pwd)
out=${2:-gpu-results}
shift $(($# > 1 ? 2 : 1))
parts=${*:-proof steps curve networks epochs bench speed network_speed accuracy train watch half runs features tables ranks memory kernels rewinds window views parent}
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
summary=""
failed=0

record=(python3 "$here"/tests/gpu/record.py)

# table NAME: the file of a table of the pages, if figures are wanted there.
table() { echo "${CSV:+$CSV/$1.csv}"; }

# proved WHAT RESULT: what a part has found by itself.
proved() {
  COMMAND="tests/gpu/run.sh BUILD OUT $part" "${record[@]}" "$(table proofs)" proof --cell "what=$1" -- echo "$2" >/dev/null
}

verdict() { # name, exit code
  case $2 in
    0) summary+="$1: passed"$'\n' ;;
    77) summary+="$1: skipped"$'\n' ;;
    *) summary+="$1: FAILED ($2)"$'\n'; failed=$((failed + 1)) ;;
  esac
}

# sanitize TOOL NAME [OPTION...]: a reduced verification under compute-sanitizer.
sanitize() {
  timeout 400 compute-sanitizer --tool "$1" --error-exitcode 9 --launch-timeout 60 \
    "$build"/warpscope verify --device cuda:0 --shapes 0 --no-libraries "${@:3}" >"$out/sanitizer-$2.log" 2>&1
}

# Checks of results. The random switches come first and by themselves: they look at the memory of the whole device. The
# others run side by side: none of them measures time.
part_proof() {
  local -A jobs=()
  local code=0
  timeout 260 "$build"/tests/test_training --gtest_filter='*Gpu*:*cuda*' --gtest_output="xml:$out/switches.xml" >"$out/switches.log" 2>&1 || code=1
  echo "switches: exit $code"
  [ $code -eq 0 ] && proved "1,000 random live switches" \
    "$(sed -n 's/.*property name="refused" value="\([0-9]*\)".*/\1/p' "$out/switches.xml" | head -n 1) refused with a sentence; no NaN"
  timeout 260 "${record[@]}" "$(table proofs)" proof --cell "what=every variant against the reference, beside other work" -- \
    "$build"/warpscope verify --device cuda:0 --json "$out/verify.json" >"$out/verify.log" 2>&1 &
  jobs[verify]=$!
  local room
  for room in core statistics classifiers features maps observers inference; do
    timeout 200 "$build"/tests/test_$room --gtest_filter='*cuda*:*Gpu*' --gtest_brief=1 >"$out/$room.log" 2>&1 &
    jobs[$room]=$!
  done
  if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck initcheck synccheck; do
      sanitize "$tool" "$tool" &
      jobs[$tool]=$!
    done
    # By far the slowest: the operations side by side.
    local op
    for op in $("$build"/warpscope verify --op list 2>&1 | sed 's/.*valid: //; s/,//g'); do
      sanitize racecheck "racecheck-$op" --op "$op" &
      jobs[racecheck-$op]=$!
    done
  else
    echo "no compute-sanitizer"
  fi
  for job in "${!jobs[@]}"; do
    wait "${jobs[$job]}"
    local result=$?
    echo "$job: exit $result"
    [ $result -eq 0 ] || code=1
  done
  grep -hE 'ERROR SUMMARY|RACECHECK SUMMARY' "$out"/sanitizer-*.log
  tail -n 3 "$out/verify.log"
  grep -h 'property name' "$out/switches.xml"
  return $code
}

# networks: what to call every network that is built in or comes along as a file, a line each.
networks() {
  local names file
  names=$("$build"/warpscope models --json - | python3 -c 'import json, sys; [print(m["name"]) for m in json.load(sys.stdin)["models"]]')
  echo "$names"
  for file in "$here"/assets/models/*.toml; do
    grep -qxF "$(basename "$file" .toml)" <<<"$names" || echo "$file"
  done
}

# Two or three training steps of every network by every preset in every precision, under memcheck, side by side.
part_steps() {
  command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer"; return 77; }
  local -A jobs=()
  local code=0 network precision name
  for network in $(networks); do
    for precision in fp32 tf32 fp16 bf16; do
      name=$(basename "$network" .toml)-$precision
      timeout "${STEPS_SECONDS:-1500}" compute-sanitizer --tool memcheck --error-exitcode 9 --launch-timeout 60 \
        "$build"/warpscope bench --device cuda:0 --model "$network" --precision $precision --no-variants --samples 1 \
        --batch "${STEPS_BATCH:-8}" --json "$out/steps-$name.json" >"$out/steps-$name.log" 2>&1 &
      jobs[$name]=$!
    done
  done
  for name in "${!jobs[@]}"; do
    wait "${jobs[$name]}"
    local result=$? timed
    timed=$(python3 -c 'import json, sys; print(sum("skipped" not in s for s in json.load(open(sys.argv[1]))["steps"]))' \
      "$out/steps-$name.json" 2>/dev/null)
    echo "$name: exit $result, ${timed:-0} steps timed; $(grep -h 'ERROR SUMMARY' "$out/steps-$name.log" | tail -n 1)"
    [ $result -eq 0 ] && [ "${timed:-0}" -gt 1 ] || code=1
  done
  [ $code -eq 0 ] && proved "whole steps of every network by every preset in four precisions, under memcheck" "${#jobs[@]} runs, 0 errors"
  return $code
}

part_curve() {
  "${record[@]}" "$(table proofs)" proof --cell "what=losses of 50 steps, presets in FP32" -- \
    python3 "$here"/tests/peers/torch_curve.py "$build"/warpscope 50 64 2>&1 | tee "$out/curve.log"
  return "${PIPESTATUS[0]}"
}

# Random networks of every kind of layer against PyTorch, and those that come along in every precision.
part_networks() {
  local code=0 file precision
  "${record[@]}" "$(table proofs)" proof --cell "what=random networks against PyTorch" -- \
    python3 "$here"/tests/peers/torch_networks.py "$build"/warpscope 60 --device cuda:0 >"$out/networks.log" 2>&1 || code=1
  tail -n 25 "$out/networks.log"
  for file in classifier_bn resnet9 vgg char_cnn char_cnn_ln; do
    local data=builtin rate=()
    [[ $file != char_cnn* ]] || data=sentences
    [ "$file" = char_cnn_ln ] && rate=(--lr 3e-5) # it dies at the default one (docs/networks.md)
    for precision in fp32 tf32 fp16 bf16; do
      local name
      name=$file-$precision
      "$build"/warpscope train --model "$file" --data $data --device cuda:0 --precision $precision --steps 300 --batch 512 \
        "${rate[@]}" >"$out/network-$name.log" 2>&1 || code=1
      echo "$name: $(grep -E '^(speed|test loss)' "$out/network-$name.log" | tr -s ' ' | tr '\n' ' ')"
    done
  done
  return $code
}

# Twenty epochs of CIFAR-10 ($WARPSCOPE_DATA) in each precision end no worse than PyTorch's.
part_epochs() {
  [ -d "${WARPSCOPE_DATA:-}/cifar-10-batches-bin" ] || { echo "no CIFAR-10"; return 77; }
  python3 "$here"/tests/peers/torch_epochs.py "$build"/warpscope "$WARPSCOPE_DATA" --json "$out/epochs.json" \
    --csv "$(table twenty_epochs)" 2>&1 | tee "$out/epochs.log"
  return "${PIPESTATUS[0]}"
}

# Images a second against PyTorch's; $SPEED_CASES and $SPEED_MODES choose.
part_speed() {
  python3 "$here"/tests/peers/torch_autoencoder.py "$build"/warpscope --json "$out/speed.json" --csv "$(table torch_autoencoder)" \
    ${SPEED_CASES:+--cases "$SPEED_CASES"} ${SPEED_MODES:+--modes "$SPEED_MODES"} 2>&1 | tee "$out/speed.log"
  return "${PIPESTATUS[0]}"
}

# Networks in files against PyTorch's; $NETWORK_CASES and $SPEED_MODES choose.
part_network_speed() {
  python3 "$here"/tests/peers/torch_network_speed.py "$build"/warpscope --json "$out/network-speed.json" --csv "$(table torch_networks)" \
    ${NETWORK_CASES:+--cases "$NETWORK_CASES"} ${SPEED_MODES:+--modes "$SPEED_MODES"} 2>&1 | tee "$out/network-speed.log"
  return "${PIPESTATUS[0]}"
}

# Networks that come along, on CIFAR-10 and AG News ($WARPSCOPE_DATA has one or both): the accuracy and the seconds of a
# recipe each, of images by ten views of each and by each by itself, and PyTorch's of resnet9, vgg and all that take
# texts.
part_accuracy() {
  local images=${WARPSCOPE_DATA:-}/cifar-10-batches-bin texts=${WARPSCOPE_DATA:-}/ag_news code=0
  [ -d "$images" ] || [ -d "$texts" ] || { echo "no CIFAR-10 and no AG News"; return 77; }
  if [ -d "$images" ]; then accuracy_of_images "$images" || code=1; else echo "no CIFAR-10"; fi
  if [ -d "$texts" ]; then accuracy_of_texts "$texts" || code=1; else echo "no AG News"; fi
  return $code
}

# torch_accuracy TABLE DATA NETWORK [OPTION...]: PyTorch's, where it is there.
torch_accuracy() {
  python3 -c 'import torch' 2>/dev/null || return 0
  local seeds=${SEEDS//[^,]/}
  python3 "$here"/tests/peers/torch_accuracy.py "$build"/warpscope "${@:2}" --seeds $((${#seeds} + 1)) --csv "$(table "$1")" 2>&1 | tail -n 1
}

# by_views HOW WEIGHTS DATA [OPTION...]: resnet9 with each seed, by so many views of a held-out image.
by_views() {
  local file=""
  [[ $2 == *resnet9* ]] && file=$(table cifar10_views)
  COMMAND="warpscope infer RUN DATA --test-mirrored --test-shift N" "${record[@]}" "$file" views --seeds "${SEEDS:-1}" \
    --cell "resnet9 evaluated by=$1" -- "$build"/warpscope infer "$2" "$3" --device cuda:0 --precision bf16 "${@:4}"
}

accuracy_of_images() { # data
  local code=0 how
  local recipe=(--precision bf16 --batch 512 --optimizer nesterov --schedule cosine:warmup=5 --flip --crop 4 --cutout 12
    --weight-decay 0.0007 --test-mirrored --test-shift 2 --test-every 5000)
  for how in "resnet9 0.4 100 0" "vgg 0.3 120 0" "classifier_bn 0.05 75 0.1"; do
    local name rate epochs jitter
    read -r name rate epochs jitter <<<"$how"
    local saved=$out/accuracy-$name-{}.safetensors
    local told=$name
    [ "$jitter" = 0 ] || told+=", \`--jitter $jitter\`"
    COMMAND="warpscope train --data FOLDER --device cuda:0 ${recipe[*]}" "${record[@]}" "$(table cifar10)" accuracy \
      --seeds "${SEEDS:-1}" --cell network="$told" --cell "\`--lr\`=$rate" --cell "\`--epochs\`=$epochs" -- \
      "$build"/warpscope train --model "$name" --data "$1" --device cuda:0 "${recipe[@]}" --lr "$rate" --jitter "$jitter" \
      --epochs "$epochs" --seed {} --save "$saved" >"$out/accuracy-$name.log" 2>&1 || code=1
    by_views "each image by itself" "$saved" "$1" >"$out/accuracy-$name-single.log" 2>&1 || code=1
    if [ "$name" = resnet9 ]; then
      by_views "and its mirror image" "$saved" "$1" --test-mirrored >>"$out/accuracy-$name.log" 2>&1 || code=1
      by_views "ten views, \`--test-shift 1\`" "$saved" "$1" --test-mirrored --test-shift 1 >>"$out/accuracy-$name.log" 2>&1 || code=1
      local shift
      for shift in 2 3 4; do
        by_views "\`--test-shift $shift\`" "$saved" "$1" --test-mirrored --test-shift $shift >>"$out/accuracy-$name.log" 2>&1 || code=1
      done
    fi
    rm -f "$out/accuracy-$name"-*.safetensors
    echo "$how: $(grep -E '^(steps|speed|test)' "$out/accuracy-$name.log" | tr -s ' ' | tr '\n' ' ')"
    echo "  each image by itself: $(grep -E '^accuracy' "$out/accuracy-$name-single.log" | tr -s ' ')"
  done
  torch_accuracy cifar10 "$1" resnet9 --rate 0.4 --weight-decay 0.0007 --cutout 12 --epochs 100 --mirrored --shift 2 || code=1
  torch_accuracy cifar10 "$1" vgg --rate 0.3 --weight-decay 0.0007 --cutout 12 --epochs 120 --mirrored --shift 2 || code=1
  return $code
}

accuracy_of_texts() { # data
  local code=0 how
  local -x COMMAND="warpscope train --precision fp16 --batch 128 --epochs 30 --weight-decay 0 --clip-norm 0"
  COMMAND+=" --schedule cosine:warmup=1; tests/peers/torch_accuracy.py"
  for how in "char_cnn momentum 0.01" "char_cnn_cased momentum 0.01" "char_cnn_ln adam 0.0001"; do
    local name rule rate
    read -r name rule rate <<<"$how"
    "${record[@]}" "$(table ag_news)" errors --seeds "${SEEDS:-1}" --cell network="$name" --cell "rule, rate=$rule $rate" -- \
      "$build"/warpscope train --model "$name" --data "$1" --device cuda:0 --precision fp16 --batch 128 --optimizer "$rule" \
      --lr "$rate" --weight-decay 0 --clip-norm 0 --schedule cosine:warmup=1 --epochs 30 \
      >"$out/accuracy-$name.log" 2>&1 || code=1
    echo "$how: $(grep -E '^(steps|speed|test)' "$out/accuracy-$name.log" | tr -s ' ' | tr '\n' ' ')"
    torch_accuracy ag_news "$1" "$name" --precision fp16 --batch 128 --optimizer "$rule" --rate "$rate" --weight-decay 0 \
      --warmup 1 --epochs 30 || code=1
  done
  return $code
}

part_bench() {
  local code=0
  "$build"/tests/test_profiling --gtest_filter='*OnTheGpu*' --gtest_brief=1 >"$out/peaks.log" 2>&1 || code=1
  tail -n 5 "$out/peaks.log"
  "$build"/warpscope bench --device cuda:0 --batch 256 --json "$out/bench.json" >"$out/bench.log" 2>&1 || code=1
  tail -n 40 "$out/bench.log"
  local kind
  for kind in steps variants; do
    COMMAND="warpscope bench --device cuda:0 --batch 256" "${record[@]}" "$(table bench_$kind)" $kind -- cat "$out/bench.json" >/dev/null || code=1
  done
  "$build"/warpscope bench --device cuda:0 --batch 1024 --op conv2d.forward,conv2d.backward_weights,conv2d.backward_input --steps \
    --json "$out/bench-layers.json" >"$out/bench-layers.log" 2>&1 || code=1
  local -x COMMAND="warpscope bench --device cuda:0 --batch 1024 --op conv2d.forward,conv2d.backward_weights,conv2d.backward_input"
  "${record[@]}" "$(table layers)" layers -- cat "$out/bench-layers.json" >/dev/null || code=1
  "${record[@]}" "$(table floor)" floor -- cat "$out/bench-layers.json" >/dev/null || code=1
  local precision
  for precision in bf16 tf32 fp32; do
    "$build"/warpscope train --device cuda:0 --data builtin --batch 1024 --steps 20 --precision $precision \
      --run-dir "$out/memory-$precision" >"$out/memory-of-plans.log" 2>&1 || code=1
    COMMAND="plan_bytes in status.json" "${record[@]}" "$(table memory)" plan --column ${precision^^} \
      --cell "batch 1024=MiB of the plan and all else but the data set" -- cat "$out/memory-$precision/status.json" >/dev/null || code=1
    rm -rf "$out/memory-$precision"
  done
  return $code
}

part_train() {
  local code=0
  for how in "fp32 preset=naive" "fp32 preset=atomic" "fp32 preset=implicit_gemm" "tf32 preset=tensor_cores" \
    "bf16 preset=tensor_cores" "fp16 preset=tensor_cores" "fp16 preset=wmma" "bf16 preset=cudnn"; do
    local name=${how// preset=/-}
    local steps=400
    [[ $how == fp32\ preset=[na]* ]] && steps=60
    local preset=${how#*=}
    COMMAND="warpscope train --device cuda:0 --data builtin --precision P --select preset=X --batch 256 --steps N" \
      "${record[@]}" "$(table presets)" speed --cell "preset=${preset//_/ }" --column "${how% *}" -- \
      "$build"/warpscope train --data builtin --device cuda:0 --precision "${how% *}" --select "${how#* }" --steps $steps --batch 256 \
      >"$out/train-$name.log" 2>&1 || code=1
    echo "$name: $(grep -E '^(speed|test loss)' "$out/train-$name.log" | tr -s ' ' | tr '\n' ' ')"
  done
  return $code
}

# rules: the names of the optimizers.
rules() { "$build"/warpscope config --optimizer list 2>&1 | sed 's/.*valid: //; s/,//g'; }

# Every network with every optimizer at its default rate, small batches and large ones: a training that is stopped ends
# no better than it began if nobody watches it. A loss that is not finite is told in other words.
part_watch() {
  local network data rule batch code=0
  for network in $(networks); do
    data=builtin
    case $network in char_cnn*) data=sentences ;; esac
    for rule in $(rules); do
      for batch in 4 64; do echo "$network $data $rule $batch"; done
    done
  done | xargs -P 8 -L 1 bash -c '
    name=$(basename "$2" .toml)-$4-$5 steps=2000
    how=(--model "$2" --data "$3" --device cuda:0 --optimizer "$4" --batch "$5" --steps $steps --test-every 100000 --test-images 64)
    "$1"/warpscope train "${how[@]}" >"$0/watch-$name.log" 2>&1 && exit
    tail -n 1 "$0/watch-$name.log"
    grep -q "is not finite" "$0/watch-$name.log" && exit
    grep -q "has leapt" "$0/watch-$name.log" || exit 1
    "$1"/warpscope train "${how[@]}" --leap 0 --run-dir "$0/watch-$name" >"$0/unwatched-$name.log" 2>&1
    python3 -c "
import json, sys
losses = [loss for loss in (json.loads(line).get(\"loss\") for line in open(sys.argv[1])) if loss is not None]
last = sum(losses[-50:]) / 50
print(f\"{sys.argv[1]}: first loss {losses[0]:.4g}, mean of the last 50 {last:.4g}\")
sys.exit(last < 0.9 * losses[0])" "$0/watch-$name/metrics.jsonl"' "$out" "$build" || code=1
  [ $code -eq 0 ] && proved "every network, every optimizer, batches of 4 and 64, 2,000 steps, watched" \
    "$(find "$out" -name 'watch-*.log' | wc -l) trainings; stopped $(grep -l 'has leapt\|is not finite' "$out"/watch-*.log | wc -l), which do not learn if nobody watches"
  return $code
}

# Thirty epochs in FP16 must not diverge.
part_half() {
  "$build"/warpscope train --device cuda:0 --precision fp16 --epochs 30 --batch 64 --run-dir "$out/run-fp16" >"$out/half.log" 2>&1
  local code=$?
  tail -n 8 "$out/half.log"
  gzip -f "$out/run-fp16/metrics.jsonl"
  return $code
}

# Optimizers, the inside of networks and losses of all models against PyTorch's, digits with each optimizer (at the rate
# that is given here, else at its default), the faulty scheme, and a run that is stopped and gone on with. MNIST if
# $WARPSCOPE_DATA has it, else the built-in digits.
part_runs() {
  local code=0
  if python3 -c 'import torch' 2>/dev/null; then
    "${record[@]}" "$(table proofs)" proof --cell "what=every optimizer, 50 steps" -- \
      python3 "$here"/tests/peers/torch_optimizers.py "$build"/tests/optimizer_steps >"$out/optimizers.log" 2>&1 || code=1
    tail -n 1 "$out/optimizers.log"
    "${record[@]}" "$(table proofs)" proof --cell "what=what the window shows of the inside, against PyTorch" -- \
      python3 "$here"/tests/peers/torch_inside.py "$build"/tests/inside_values --device cuda:0 >"$out/inside.log" 2>&1 || code=1
    tail -n 10 "$out/inside.log"
    if python3 -c 'import safetensors' 2>/dev/null; then
      "${record[@]}" "$(table proofs)" proof --cell "what=test loss of three models" -- \
        python3 "$here"/tests/peers/torch_loss.py "$build"/warpscope cuda:0 || code=1
    fi
  fi
  local digits=builtin file="" how rule
  [ -d "${WARPSCOPE_DATA:-}/mnist" ] && digits=$WARPSCOPE_DATA/mnist file=$(table mnist)
  local hows=("sgd --lr 0.1 --batch 32" "momentum --lr 0.02 --batch 128" "nesterov --lr 0.02 --batch 128"
    "adam --lr 0.001 --batch 128" "adamw --lr 0.001 --batch 128" "rmsprop --lr 0.001 --batch 128"
    "lion --lr 0.0002 --batch 128" "adam --lr 0.01 --batch 2048" "momentum --lr 0.01 --batch 64 --update per_sample"
    "momentum --lr 0.01 --batch 256 --accumulate 8")
  for rule in $(rules); do
    [[ " ${hows[*]}" == *" $rule "* ]] || hows+=("$rule --batch 128")
  done
  for how in "${hows[@]}"; do
    local epochs=10
    [[ $how == *per_sample* ]] && epochs=1
    # shellcheck disable=SC2086 # options
    COMMAND="warpscope train --model mlp --data mnist --epochs 10 --optimizer ..." \
      "${record[@]}" "$([[ $how == *per_sample* ]] || echo "$file")" digits --cell "optimizer and settings=\`$how\`" -- "$build"/warpscope train --model mlp --data "$digits" --device cuda:0 --optimizer $how --epochs $epochs >"$out/digits.log" 2>&1 || code=1
    echo "mlp $how: $(grep -E '^(steps|speed|test loss)' "$out/digits.log" | tr -s ' ' | tr '\n' ' ')"
  done
  local atomic_free="preset=implicit_gemm"
  local same=(--model classifier --data builtin --device cuda:0 --precision fp32 --select $atomic_free --optimizer adam
    --schedule cosine:warmup=0.1)
  "$build"/warpscope train "${same[@]}" --epochs 6 --batch 256 --save "$out/straight.safetensors" >"$out/straight.log" 2>&1 || code=1
  "$build"/warpscope train "${same[@]}" --epochs 6 --batch 256 --run-dir "$out/resumed" >/dev/null 2>&1 &
  local trainer=$!
  # In the middle: once there is something to go on from, and before its end, or there is nothing to be resumed.
  until compgen -G "$out/resumed/checkpoints/step-*.safetensors" >/dev/null || ! kill -0 $trainer 2>/dev/null; do sleep 0.05; done
  kill -9 $trainer
  wait $trainer 2>/dev/null
  "$build"/warpscope train --resume "$out/resumed" --save "$out/resumed.safetensors" >"$out/resumed.log" 2>&1 || code=1
  grep -o 'resumed at step [0-9]*' "$out/resumed/metrics.jsonl" || { echo "it was not killed in its middle"; code=1; }
  if cmp "$out/straight.safetensors" "$out/resumed.safetensors"; then
    echo "resumed: the same bits"
    proved "a classifier killed with SIGKILL and resumed" "ends with the same bits"
  else
    code=1
  fi
  rm -rf "$out"/{straight,resumed}.safetensors "$out/resumed/checkpoints"
  return $code
}

# Another process holds nearly all memory of the GPU: a sentence, exit code 1, and the weights that were saved earlier
# still whole.
part_memory() {
  python3 -c 'import torch' 2>/dev/null || { echo "no PyTorch to fill the memory with"; return 77; }
  python3 - "$out/filled" <<'PYTHON' &
import pathlib, signal, sys, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - (600 << 20), dtype=torch.uint8, device="cuda")
pathlib.Path(sys.argv[1]).touch()
signal.pause()  # until it is killed
PYTHON
  local holder=$! code=0
  until [ -e "$out/filled" ] || ! kill -0 $holder 2>/dev/null; do sleep 0.1; done
  [ -e "$out/filled" ] || { echo "the memory cannot be filled"; return 1; }
  echo before >"$out/weights.safetensors"
  "$build"/warpscope train --data builtin --device cuda:0 --batch 1024 --steps 5 --save "$out/weights.safetensors" >"$out/memory.log" 2>&1
  local result=$?
  tail -n 1 "$out/memory.log"
  [ $result -eq 1 ] && grep -q 'does not fit\|MiB of memory free' "$out/memory.log" || { echo "exit $result"; code=1; }
  [ "$(cat "$out/weights.safetensors")" = before ] || code=1
  kill $holder
  wait $holder 2>/dev/null
  rm -f "$out/filled" "$out/weights.safetensors"
  return $code
}

# Kernels that people write: proofs, trials of wrong ones, times of the lesson.
part_kernels() {
  timeout 300 python3 "$here"/tests/gpu/user_kernels.py "$build"/warpscope --seconds 250 2>&1 | tee "$out/kernels.log"
  return "${PIPESTATUS[0]}"
}

part_window() {
  [ -n "${DISPLAY:-}" ] || { echo "no display"; return 77; }
  local code=0
  for vendor in nvidia mesa auto; do # auto: the CPU paints, this display being a virtual one
    local trace="$out/trace-$vendor.jsonl" expected=fetched draw=gpu library=$vendor painted=false
    [ $vendor = nvidia ] && expected=shared
    [ $vendor = auto ] && draw=auto library=nvidia painted=true
    rm -f "$trace"
    __GLX_VENDOR_LIBRARY_NAME=$library WARPSCOPE_UI_TRACE=$trace timeout 90 "$build"/warpscope --device cuda:0 --draw $draw \
      --window-size 1600x1000 --exit-after-steps 3000 --screenshot "$out/window-$vendor.png" >"$out/window-$vendor.log" 2>&1 || code=1
    # An empty window is a few KiB.
    [ "$(stat -c %s "$out/window-$vendor.png")" -gt 100000 ] || { echo "an empty window"; code=1; }
    grep '"frame"' "$trace" | tail -n 1 | grep -q "\"painted\":$painted" || { echo "expected painted: $painted"; code=1; }
    local seen
    seen=$(grep '"images"' "$trace" | tail -n 1)
    echo "$vendor: $seen"
    grep -q "\"path\":\"$expected\"" <<<"$seen" || { echo "expected the $expected path"; code=1; }
    [ $expected = fetched ] || grep -q '"image_bytes_to_host":0[,}]' <<<"$seen" || { echo "image bytes were read back"; code=1; }
  done
  local suite library
  for suite in test_images test_paint; do
    for library in nvidia mesa; do
      __GLX_VENDOR_LIBRARY_NAME=$library "$build"/tests/$suite --gtest_filter='*ImageView*:FramePainter*' --gtest_brief=1 \
        >"$out/$suite-$library.log" 2>&1 || { echo "$suite with $library failed"; code=1; }
    done
  done
  local by
  for by in cpu gpu; do
    python3 "$here"/tests/gpu/window_cost.py "$build"/warpscope --draw $by --json "$out/window-cost-$by.json" \
      --csv "$(table "$([ $by = gpu ] && echo window || echo window_cpu)")" \
      2>&1 | tee "$out/window-cost-$by.log"
    [ "${PIPESTATUS[0]}" -eq 0 ] || code=1
  done
  return $code
}

# Classifiers and maps of made-up features of the size of CIFAR-10's latents, and the way from images to an accuracy.
part_features() {
  local code=0 bench
  for bench in svm linear; do
    timeout 200 "$build"/tests/"$bench"_bench --device cuda >"$out/$bench-bench.log" 2>&1 || code=1
    tail -n 15 "$out/$bench-bench.log"
  done
  for bench in t-SNE UMAP; do
    local map=${bench,,}
    timeout 200 "${record[@]}" "$(table maps)" maps --cell "10,000 x 8,192 made-up features in ten clusters=$bench" -- \
      "$build"/tests/maps_bench --device cuda --map "${map/-/}" >"$out/$bench-bench.log" 2>&1 || code=1
    tail -n 15 "$out/$bench-bench.log"
  done
  local data=builtin
  [ -d "${WARPSCOPE_DATA:-}/cifar-10-batches-bin" ] && data=$WARPSCOPE_DATA/cifar-10-batches-bin
  local file=""
  [ $data = builtin ] || file=$(table features_whole_way)
  local then="warpscope train --data FOLDER --precision bf16 --epochs 20 --then svm"
  COMMAND=$then "${record[@]}" "$file" whole --seeds 1,2,3 --cell "from start to accuracy=at the defaults, batch 64, three times" -- \
    "$build"/warpscope train --data "$data" --device cuda:0 --precision bf16 --epochs 20 --then svm >"$out/then.log" 2>&1 || code=1
  COMMAND="$then --batch 256" "${record[@]}" "$file" whole --cell "from start to accuracy=batch 256" -- \
    "$build"/warpscope train --data "$data" --device cuda:0 --precision bf16 --epochs 20 --batch 256 --then svm >>"$out/then.log" 2>&1 || code=1
  tail -n 12 "$out/then.log"
  return $code
}

# classified TABLE COLUMN=TEXT [OPTION...]: what a classifier makes of the features of the weights $out/tables.safetensors.
classified() {
  "${record[@]}" "$(table "$1")" take --cell "$2" --take 'accuracy=^accuracy +([\d.]+ %)' \
    --take 'seconds to fit=^fitted +in ([\d.]+) s' -- \
    "$build"/warpscope classify "$out"/tables.safetensors "${@:3}" >>"$out/tables.log" 2>&1
}

# fitted ROW LAYER [OPTION...]: seconds of a classifier of features of the weights $out/tables.safetensors.
fitted() {
  COMMAND="warpscope classify w.safetensors --data FOLDER --classifier C" "${record[@]}" "$(table features_seconds)" take \
    --cell "CIFAR-10=$1" --take "seconds=$2" -- "$build"/warpscope classify "$out"/tables.safetensors --device cuda:0 "${@:3}" \
    >>"$out/tables.log" 2>&1
}

# What features and classifiers of CIFAR-10 take.
seconds_of_features() { # data
  local code=0 fit='^fitted +in ([\d.]+) s'
  "$build"/warpscope train --data "$1" --device cuda:0 --precision bf16 --epochs 20 --batch 256 --lr 0.0005 --schedule cosine \
    --save "$out/tables.safetensors" >>"$out/tables.log" 2>&1 || code=1
  fitted "60,000 images to 8,192 standardized features" '^features .* in ([\d.]+) s on' --data "$1" || code=1
  fitted "prediction of 10,000" '^predicted +\d+ rows in ([\d.]+) s' --data "$1" || code=1
  fitted "RBF SVM, C = 10, gamma = scale, 50,000 x 8,192" "$fit" --data "$1" || code=1
  fitted "the same within 8 GiB of device memory" "$fit" --data "$1" --memory-limit $((8 << 30)) || code=1
  fitted "linear SVM (squared hinge), C = 1e-4" "$fit" --data "$1" --classifier linear -C 1e-4 || code=1
  fitted "linear SVM (hinge), C = 1e-3" "$fit" --data "$1" --classifier hinge -C 1e-3 || code=1
  fitted "softmax regression, C = 1e-3" "$fit" --data "$1" --classifier softmax -C 1e-3 || code=1
  return $code
}

# What trainings do to the features: the accuracy of the RBF machine by each of some layers.
features_of_trainings() { # data
  local code=0 how layer
  for how in "adam 0.0003, batch 64 (the defaults)|bf16|--batch 64" "the same in TF32|tf32|--batch 64" \
    "adam 0.0001, batch 64|bf16|--batch 64 --lr 0.0001" "adam 0.0005, batch 256, cosine|bf16|--batch 256 --lr 0.0005 --schedule cosine" \
    "adam 0.001, batch 256, cosine|bf16|--batch 256 --lr 0.001 --schedule cosine"; do
    local training precision options
    IFS='|' read -r training precision options <<<"$how"
    # shellcheck disable=SC2086 # options
    "$build"/warpscope train --data "$1" --device cuda:0 --epochs 20 --precision "$precision" $options \
      --save "$out/tables.safetensors" >>"$out/tables.log" 2>&1 || code=1
    for layer in pool2 pool1:max=4 pool2:mean=4 pool1:max=4+pool2 pool1:max=8 conv1:max=4; do
      COMMAND="warpscope train --data FOLDER --epochs 20 ... --save F; warpscope classify F --data FOLDER --layer L" \
        "${record[@]}" "$(table features_trainings)" take --cell "features=\`$layer\`" \
        --take "$training=^accuracy +([\d.]+ %)" -- "$build"/warpscope classify "$out/tables.safetensors" --data "$1" \
        --device cuda:0 --layer $layer >>"$out/tables.log" 2>&1 || code=1
    done
  done
  return $code
}

# What each augmentation adds to the time of a step, BF16, batch 512.
cost_of_augmentation() {
  local code=0 network how
  for network in classifier resnet9; do
    local run=("$build"/warpscope train --model "$network" --data builtin --device cuda:0 --precision bf16 --batch 512 --time 3s)
    "${run[@]}" --run-dir "$out/augment-none" >>"$out/tables.log" 2>&1 || code=1
    for how in "flip|--flip" "crop|--crop 4" "cutout|--cutout 12" "jitter|--jitter 0.1" "MixUp|--mixup 0.2" \
      "all|--flip --crop 4 --cutout 12 --jitter 0.1 --mixup 0.2"; do
      # shellcheck disable=SC2086 # options
      "${run[@]}" ${how#*|} --run-dir "$out/augment-some" >>"$out/tables.log" 2>&1 || code=1
      COMMAND="warpscope train --model M --precision bf16 --batch 512 --time 3s" "${record[@]}" "$(table augmentation)" augmentation \
        --column "${how%%|*}" --cell "share of the training's time (limit 2 % each)=$network" -- \
        cat "$out/augment-none/status.json" "$out/augment-some/status.json" >/dev/null || code=1
      rm -rf "$out/augment-some"
    done
    rm -rf "$out/augment-none"
  done
  return $code
}

# Frames of the window's slowest views, by the processor.
frames_of_views() {
  local code=0 row
  if [ -x "$build"/tests/curve_frames ]; then
    for row in "a frame with two curves of ten million points, all in view|everything" "the same, a fifth in view|a fifth of it"; do
      "${record[@]}" "$(table frames)" take --cell "on the processor=${row%|*}" \
        --take "median or mean=^  ${row#*|} .*median +([\d.]+ ms)" --take "most or 99 % below=^  ${row#*|} .*p99 +([\d.]+ ms)" -- \
        "$build"/tests/curve_frames 10000000 >>"$out/tables.log" 2>&1 || code=1
    done
    for row in "another smoothing" "another metric"; do
      "${record[@]}" "$(table frames)" take --cell "on the processor=the longest while $row is made" \
        --take "most or 99 % below=^  $row +longest frame +([\d.]+ ms)" -- "$build"/tests/curve_frames 10000000 \
        >>"$out/tables.log" 2>&1 || code=1
    done
  fi
  [ -n "${DISPLAY:-}" ] || { echo "no display for the frames of a map"; return $code; }
  "${record[@]}" "$(table frames)" take --cell "on the processor=a lasso over a map of 3,000 pictures, 1920x1080" \
    --take 'median or mean=^  lasso .*median +([\d.]+ ms)' --take 'most or 99 % below=^  lasso .*p99 +([\d.]+ ms)' -- \
    python3 "$here"/tests/timing/latent_frames.py "$build"/warpscope >>"$out/tables.log" 2>&1 || code=1
  return $code
}

# Tables that no other part writes: normalization by itself, augmentation, frames, batches on the CPU, pictures after ten
# seconds, features and classifiers of CIFAR-10, and features that a head has shaped.
part_tables() {
  local code=0 shape network options batch joint
  : >"$out/tables.log"
  for shape in 512x32x32x64 512x16x16x128 512x8x8x256 512x1x1008x256; do
    local ops=batch_norm.infer,batch_norm.forward,batch_norm.backward
    [[ $shape == *x64 || $shape == *1008* ]] && ops+=,layer_norm.forward,layer_norm.backward_input,layer_norm.backward_weights
    "$build"/warpscope bench --device cuda:0 --precision bf16 --op $ops --shape $shape --json "$out/norms-$shape.json" \
      >>"$out/tables.log" 2>&1 || code=1
    COMMAND="warpscope bench --op OP --shape SHAPE" "${record[@]}" "$(table norms)" shares --column $shape -- \
      cat "$out/norms-$shape.json" >/dev/null || code=1
  done
  cost_of_augmentation || code=1
  frames_of_views || code=1
  for options in "mlp builtin 3s" "classifier builtin 5s" "autoencoder builtin 6s" "char_cnn builtin 10s"; do
    read -r network data seconds <<<"$options"
    for batch in 8 16 32 64; do
      "${record[@]}" "$(table cpu_batches)" batches --cell network="$network" --cell batch=$batch -- "$build"/warpscope train \
        --device cpu --model "$network" --data "$data" --batch $batch --time "$seconds" >>"$out/tables.log" 2>&1 || code=1
    done
  done
  "${record[@]}" "$(table sharp)" take --cell "\`warpscope train\` or the window with built-in scenes=BF16, batch 64, adam 0.0003: after 10 s" \
    --take 'PSNR of held-out images=PSNR ([\d.]+ dB)' -- "$build"/warpscope train --device cuda:0 --data builtin --time 10s \
    --precision bf16 --batch 64 >>"$out/tables.log" 2>&1 || code=1
  local data=${WARPSCOPE_DATA:-}/cifar-10-batches-bin
  [ -d "$data" ] || { echo "no CIFAR-10 for features"; return $code; }
  seconds_of_features "$data" || code=1
  features_of_trainings "$data" || code=1
  "$build"/warpscope train --data "$data" --device cuda:0 --precision bf16 --epochs 20 --save "$out/tables.safetensors" \
    >>"$out/tables.log" 2>&1 || code=1
  for options in "RBF, \`pool1:max=4\`|--classifier rbf --layer pool1:max=4" "RBF, \`pool1:max=4+pool2\`|--classifier rbf --layer pool1:max=4+pool2" \
    "RBF, \`pool1:mean=4+pool2\`|--classifier rbf --layer pool1:mean=4+pool2" "softmax regression|--classifier softmax" \
    "5 nearest neighbours|--classifier nearest"; do
    # shellcheck disable=SC2086 # options
    COMMAND="warpscope classify R --classifier C" classified features_classifiers "classifier=${options%%|*}" --data "$data" \
      --device cuda:0 ${options#*|} || code=1
  done
  for joint in 0.01 0.03 0.1; do
    COMMAND="warpscope train --joint L" "${record[@]}" "$(table joint)" take --cell "L=$joint" --take 'PSNR=PSNR ([\d.]+ dB)' -- \
      "$build"/warpscope train --data "$data" --device cuda:0 --precision bf16 --epochs 20 --joint $joint \
      --save "$out/tables.safetensors" >>"$out/tables.log" 2>&1 || code=1
    COMMAND="warpscope train --joint L" "${record[@]}" "$(table joint)" take --cell "L=$joint" \
      --take 'accuracy of the RBF machine on the latents=^accuracy +([\d.]+ %)' -- \
      "$build"/warpscope classify "$out/tables.safetensors" --data "$data" --device cuda:0 --classifier rbf >>"$out/tables.log" 2>&1 || code=1
  done
  rm -f "$out/tables.safetensors"
  return $code
}

# Two GPUs: a training on both, by each way of adding gradients, sums by themselves, inference.
part_ranks() {
  [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -ge 2 ] || { echo "no two GPUs"; return 77; }
  local code=0 ranks=(python3 "$here"/tests/gpu/ranks.py)
  "${ranks[@]}" "$build"/warpscope --steps 2000 --peer --variants p2p_two_shot,nccl_plain,host_mpi --csv "$(table ranks)" || code=1
  "${ranks[@]}" "$build"/warpscope --steps 2000 --weak --variants p2p_one_shot,p2p_two_shot,nccl_plain,nccl \
    --csv "$(table ranks_buckets)" || code=1
  "${ranks[@]}" "$build"/tests/allreduce_bench --sum --csv "$(table ranks_sums)" || code=1
  python3 "$here"/tests/gpu/rank_kills.py "$build"/warpscope --gpus 2 --times 20 --model autoencoder --data builtin \
    --batch 256 --steps 4000 || code=1
  "${ranks[@]}" "$build"/warpscope --infer --csv "$(table ranks_inference)" || code=1
  return $code
}

# `ninja rewind_times` builds it.
part_rewinds() {
  [ -x "$build"/tests/rewind_times ] || { echo "no rewind_times"; return 77; }
  local row take=()
  for row in "kept moment" "any step" "aside while the training goes on"; do
    take+=(--take "$row, ms, median=^(?:a )?$row: median (\\d+) ms"
      --take "$row, ms, longest=^(?:a )?$row: .* longest (\\d+) ms")
  done
  COMMAND=rewind_times "${record[@]}" "$(table rewinds)" take \
    --cell "steps=50,000 of the autoencoder, BF16, batch 128" "${take[@]}" -- "$build"/tests/rewind_times 2>&1 | tee "$out/rewinds.log"
  return "${PIPESTATUS[0]}"
}

part_views() {
  [ -n "${DISPLAY:-}" ] || { echo "no display"; return 77; }
  python3 "$here"/tests/gpu/view_latency.py "$build"/warpscope --json "$out/views.json" --csv "$(table views)" 2>&1 | tee "$out/views.log"
  return "${PIPESTATUS[0]}"
}

part_parent() {
  [ -n "${PARENT:-}" ] || { echo "no build of the parent commit (PARENT)"; return 77; }
  python3 "$here"/tests/gpu/parent.py "$build"/warpscope "$PARENT" --json "$out/parent.json" --csv "$(table steps)" 2>&1 | tee "$out/parent.log"
  return "${PIPESTATUS[0]}"
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
