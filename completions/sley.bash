# SPDX-License-Identifier: Apache-2.0
# Bash completion for sley. Installed as share/bash-completion/completions/sley.

_sley() {
  local word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" command="${COMP_WORDS[1]}"
  local commands="spmm spgemm tile plan roofline convert order generate spy tune bench collective gnn info help version"
  local job="--k --ranks --threads --workgroup --algo --device --kernel --precision --mem-limit --order --partition --dtype --wire --transpose --reproducible --seed --json --format --base"
  local options=""

  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands -V --version --help" -- "$word")
    return
  fi
  [ "$command" != bench ] || [ "${COMP_WORDS[2]}" != ops ] || command="bench ops"
  [ "$command" != gnn ] || [ "${COMP_WORDS[2]}" != train ] || command="gnn train"
  [ "$command" != gnn ] || [ "${COMP_WORDS[2]}" != bench ] || command="gnn bench"
  [ "$command" != gnn ] || [ "${COMP_WORDS[2]}" != infer ] || command="gnn infer"
  case "$command" in
    spmm) options="$job --x --out --plot --alpha --beta --repeat --warmup --budget --unchanged --update --verify --no-verify --trace --local --rowwise --transport --timeout --help" ;;
    spgemm) options="--mask --transpose-b --semiring --out --dtype --mem-limit --device --local --ranks --threads --seed --repeat --verify --json --format --base --help" ;;
    tile) options="--k --times --semiring --mask --mem-limit --algo --ranks --grid --tiles --columns --buffers --dtype --device --workgroup --threads --transport --timeout --seed --repeat --warmup --verify --no-verify --json --format --base --help" ;;
    plan) options="$job --machine --scaling --plot --measure --help" ;;
    roofline) options="--k --spgemm --ranks --workgroup --grid --tiles --columns --algo --dtype --machine --device --threads --memory-bandwidth --network-bandwidth --latency --peak --compression --measured-ms --measured --per-rank --seed --plot --json --format --base --help" ;;
    convert) options="--dtype --threads --mem-limit --format --base --help" ;;
    order) options="--order --output --perm --dtype --threads --seed --mem-limit --format --base --help" ;;
    generate) options="--output --dtype --threads --seed --help" ;;
    spy) options="--output --ranks --partition --order --size --bare --threads --seed --mem-limit --format --base --help" ;;
    tune) options="--device --out --transport --seconds --help" ;;
    bench) options="--data --matrix --cases --least --widest --seed --list --dtype --device --precision --threads --repeat --budget --mem-limit --mkl --json --format --base --help" ;;
    "bench ops") options="--matrix --ops --k --heads --dtype --device --threads --ranks --seed --repeat --alone --mkl --json --format --base --help" ;;
    collective) options="--bytes --zeros --blocks --dtype --op --format --way --any-order --ranks --workgroup --threads --transport --timeout --device --repeat --warmup --iters --seed --check --no-check --sweep --plot --json --help" ;;
    gnn) options="--help" ;;
    "gnn train") options="--force --weights --features --labels --model --layers --hidden --heads --epochs --patience --rate --optimizer --decay --dropout --train --valid --split --split-seed --undirected --normalize --reproducible --fresh-features --aggregate --kernel --rowwise --precision --wire --memory --ranks --transport --threads --device --seed --sample --batch --runs --out --save-every --resume --plot --json --format --base --help" ;;
    "gnn bench") options="--weights --features --labels --model --repeat --warmup --layers --hidden --heads --rate --optimizer --decay --dropout --undirected --normalize --reproducible --fresh-features --aggregate --kernel --rowwise --precision --wire --memory --ranks --transport --threads --device --seed --json --format --base --help" ;;
    "gnn infer") options="--force --weights --last --features --labels --train --valid --split --split-seed --ranks --transport --threads --device --seed --out --json --format --base --help" ;;
    info) options="--json --help" ;;
    help)
      mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
      return
      ;;
  esac
  case "$previous" in
    bench)
      if [ "$COMP_CWORD" -eq 2 ]; then # not that of gnn
        mapfile -t COMPREPLY < <(compgen -W "ops $options" -- "$word")
        return
      fi
      ;;
    gnn)
      [ "$COMP_CWORD" -ne 2 ] || mapfile -t COMPREPLY < <(compgen -W "train bench infer $options" -- "$word")
      return
      ;;
    collective)
      mapfile -t COMPREPLY < <(compgen -W "allreduce allgather reducescatter $options" -- "$word")
      return
      ;;
    --format)
      if [ "$command" != collective ]; then
        mapfile -t COMPREPLY < <(compgen -W "mtx edgelist metis rb numbers npz sley" -- "$word")
        return
      fi
      mapfile -t COMPREPLY < <(compgen -W "auto pici coo dense" -- "$word")
      return
      ;;
    --way)
      mapfile -t COMPREPLY < <(compgen -W "auto direct ring two-level" -- "$word")
      return
      ;;
    --op)
      mapfile -t COMPREPLY < <(compgen -W "sum min max" -- "$word")
      return
      ;;
    --model)
      mapfile -t COMPREPLY < <(compgen -W "gcn gin sage sage-max gat all" -- "$word")
      return
      ;;
    --semiring)
      mapfile -t COMPREPLY < <(compgen -W "plus-times plus-pair min-plus or-and" -- "$word")
      return
      ;;
    --optimizer)
      mapfile -t COMPREPLY < <(compgen -W "adam sgd" -- "$word")
      return
      ;;
    --algo | --aggregate)
      if [ "$command" = tile ]; then
        mapfile -t COMPREPLY < <(compgen -W "tile-c tile-a tile-b tile-c-steal tile-c-steal-local tile-a-steal tile-a-steal-local tile-b-steal tile-b-steal-local all" -- "$word")
        return
      fi
      if [ "$command" = roofline ]; then
        mapfile -t COMPREPLY < <(compgen -W "tile-c tile-a tile-b summa-2d all" -- "$word")
        return
      fi
      mapfile -t COMPREPLY < <(compgen -W "auto all cola bcast-1d bcast-1d-pipelined bcast-1.5d summa-2d rowwise halo
        halo-fused halo-coalesced halo-pipelined cover" -- "$word")
      return
      ;;
    --base)
      mapfile -t COMPREPLY < <(compgen -W "0 1" -- "$word")
      return
      ;;
    --order)
      mapfile -t COMPREPLY < <(compgen -W "none rabbit rcm degree loa scotch metis random" -- "$word")
      return
      ;;
    --partition)
      mapfile -t COMPREPLY < <(compgen -W "rows nnz" -- "$word")
      return
      ;;
    --device)
      mapfile -t COMPREPLY < <(compgen -W "auto cpu cuda" -- "$word")
      return
      ;;
    --transport)
      mapfile -t COMPREPLY < <(compgen -W "threads tcp mpi nccl nvshmem" -- "$word")
      return
      ;;
    --wire)
      mapfile -t COMPREPLY < <(compgen -W "none bf16 f16" -- "$word")
      return
      ;;
    --memory)
      mapfile -t COMPREPLY < <(compgen -W "keep recompute bf16" -- "$word")
      return
      ;;
    --rowwise)
      mapfile -t COMPREPLY < <(compgen -W "auto partitions=off interleave=off memory=shared get=thread get=warp get=block" -- "$word")
      return
      ;;
    --precision)
      mapfile -t COMPREPLY < <(compgen -W "full tf32" -- "$word")
      return
      ;;
    --dtype)
      local types="f32 f64 f16 bf16"
      [ "$command" != collective ] || types+=" i64 i8 u8"
      mapfile -t COMPREPLY < <(compgen -W "$types" -- "$word")
      return
      ;;
  esac
  if [[ "$word" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -f -W "twin: rmat: er:" -- "$word")
  compopt -o filenames -o nospace 2>/dev/null
}
complete -F _sley sley
