"""Quantities of memory accesses: requests, sectors, wavefronts, lanes, and what their addresses depend on.

They take one launch's ``Code`` and metrics per instruction, or columns of all launches (see ``metrics.registry``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.instruction_table import total, weighted
from ncuview.metrics.registry import instruction_quantity, quantity
from ncuview.sass import address, global_loads, instruction_mix, loaded_values, opcode_classes
from ncuview.sass.code import of_class
from ncuview.sass.global_loads import load_batches
from ncuview.sass.idioms import private_copies
from ncuview.sass.idioms.slow_paths import batches_without_slow_paths
from ncuview.sass.index_dependence import loads_invariant_along
from ncuview.sass.repeated_passes import fusible_pass_loads as fusible_pass_loads_of
from ncuview.sass.repeated_passes import repeated_pass_loads as repeated_pass_loads_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ncuview.sass.code import Code
    from ncuview.sass.global_loads import LoadBatch
    from ncuview.sass.repeated_passes import Place

    Column = NDArray[np.float64]

_WARP = 32
_SECTOR = 32
_SECTORS_OF_A_LINE = 4
_NEARLY_COALESCED = 1.3
"""Sectors per needed sector up to which loads count as coalesced: rows that start inside a sector read 1.25."""
_OF_LARGER_TILES = 0.3
"""What is left of a tile's loads in L1 when each thread keeps 8 x 8 results instead of 4 x 4 or fewer, with the passes
that fill it: tiled products of the labelled programs read 0.2 to 0.4."""
_RANDOM_BANKS = 3.6
"""Wavefronts of an access whose 32 lanes choose banks at random: the most that meet in one bank, 3.53 on average."""
_BOUND = 1.5
"""From here on a bound on the imbalance of slices is no answer: ``GMEM003`` takes such an imbalance for waste."""
_NEARLY = 1
"""Lanes by which half-filled warps may differ from 16, at the edges of a grid."""


@instruction_quantity("inst")
def load_requests(code: Code, executions: Column) -> float:
    """Global loads executed by warps."""
    return total(code, opcode_classes.is_global_load, executions)


@instruction_quantity("sector")
def load_sectors(code: Code, sectors: Column) -> float:
    """Sectors of 32 bytes that global loads touch."""
    return total(code, opcode_classes.is_global_load, sectors)


@instruction_quantity("sector")
def load_sectors_ideal(code: Code, sectors_ideal: Column) -> float:
    """The fewest sectors that could hold the bytes that global loads bring."""
    return total(code, opcode_classes.is_global_load, sectors_ideal)


@instruction_quantity("request")
def load_tag_requests(code: Code, tag_requests: Column) -> float:
    """Passes of global loads through the tag stage of L1: one for each line of 128 bytes that they touch."""
    return total(code, opcode_classes.is_global_load, tag_requests)


@instruction_quantity("inst")
def store_requests(code: Code, executions: Column) -> float:
    """Global stores executed by warps."""
    return total(code, opcode_classes.is_global_store, executions)


@instruction_quantity("sector")
def store_sectors(code: Code, sectors: Column) -> float:
    """Sectors of 32 bytes that global stores touch."""
    return total(code, opcode_classes.is_global_store, sectors)


@instruction_quantity("sector")
def store_sectors_ideal(code: Code, sectors_ideal: Column) -> float:
    """The fewest sectors that could hold the bytes that global stores write."""
    return total(code, opcode_classes.is_global_store, sectors_ideal)


@instruction_quantity("request")
def store_tag_requests(code: Code, tag_requests: Column) -> float:
    """Passes of global stores through the tag stage of L1."""
    return total(code, opcode_classes.is_global_store, tag_requests)


@instruction_quantity("thread")
def store_lanes(code: Code, active_threads: Column) -> float:
    """Threads that execute global stores."""
    return total(code, opcode_classes.is_global_store, active_threads)


@instruction_quantity("inst")
def atomics(code: Code, executions: Column) -> float:
    """Atomics and reductions in global memory executed by warps."""
    return total(code, opcode_classes.is_global_atomic, executions)


@instruction_quantity("thread")
def atomic_lanes(code: Code, active_threads: Column) -> float:
    """Threads that execute atomics and reductions in global memory."""
    return total(code, opcode_classes.is_global_atomic, active_threads)


@instruction_quantity("sector")
def atomic_sectors(code: Code, sectors: Column) -> float:
    """Sectors that atomics and reductions in global memory touch."""
    return total(code, opcode_classes.is_global_atomic, sectors)


@instruction_quantity("thread")
def one_address_lanes(code: Code, active_threads: Column) -> float:
    """Threads that execute atomics in global memory at an address that is the same in all threads of a block."""
    return weighted(code, address.one_address_atomics, active_threads)


@instruction_quantity("thread")
def merging_lanes(code: Code, active_threads: Column) -> float:
    """Threads that execute atomics which merge a block's copy in shared memory into global memory."""
    return weighted(code, private_copies.merging_atomics, active_threads)


@instruction_quantity("sector")
def merging_sectors(code: Code, sectors: Column) -> float:
    """Sectors that atomics touch which merge a block's copy in shared memory into global memory."""
    return weighted(code, private_copies.merging_atomics, sectors)


@instruction_quantity("inst")
def merge_instructions(code: Code, executions: Column) -> float:
    """Instructions that clear a block's copy in a loop or come after its last update; 0 if it is merged repeatedly."""
    return weighted(code, private_copies.merge_per_block, executions)


@instruction_quantity("share")
def merge_waits(
    code: Code,
    samples_barrier: Column,
    samples_drain: Column,
    samples_lg_throttle: Column,
    samples_long_scoreboard: Column,
    samples_mio_throttle: Column,
    samples_short_scoreboard: Column,
) -> float:
    """Of the warp samples that wait for memory or at barriers, those of the instructions of ``merge_instructions``."""
    waits = samples_barrier + samples_drain + samples_lg_throttle + samples_long_scoreboard
    waits = waits + samples_mio_throttle + samples_short_scoreboard
    return float(np.divide(weighted(code, private_copies.merge_per_block, waits), waits.sum()))


@instruction_quantity("inst")
def operand_loads(code: Code, executions: Column) -> float:
    """Loads from global or shared memory executed by warps, each thread for itself."""
    return total(code, opcode_classes.is_operand_load, executions)


@instruction_quantity("wavefront")
def shared_access_wavefronts(code: Code, wavefronts: Column) -> float:
    """Wavefronts of loads from shared memory and stores to it, where ncu gives them for instructions."""
    return total(code, opcode_classes.is_shared_access, wavefronts)


@instruction_quantity("wavefront")
def shared_access_wavefronts_ideal(code: Code, wavefronts_ideal: Column) -> float:
    """The fewest wavefronts that loads from shared memory and stores to it could take."""
    return total(code, opcode_classes.is_shared_access, wavefronts_ideal)


@quantity("wavefront")
def shared_wavefronts(all_shared_wavefronts: Column, shared_access_wavefronts: Column) -> Column:
    """Wavefronts of loads from shared memory and stores to it; 0 where the launch has none."""
    return np.where(all_shared_wavefronts == 0, 0.0, shared_access_wavefronts)


@quantity("wavefront")
def shared_wavefronts_ideal(all_shared_wavefronts: Column, shared_access_wavefronts_ideal: Column) -> Column:
    """The fewest wavefronts that loads from shared memory and stores to it could take; 0 without any."""
    return np.where(all_shared_wavefronts == 0, 0.0, shared_access_wavefronts_ideal)


@instruction_quantity("wavefront")
def look_up_replays(code: Code, wavefronts: Column, wavefronts_ideal: Column) -> float:
    """Replays of accesses to shared memory at loaded places, where they are no more than those of random banks.

    Whatever the rows of the array, random places stay random; more replays show that they are not.
    """
    replays = wavefronts - wavefronts_ideal
    random = (replays > 0) & (wavefronts <= _RANDOM_BANKS * wavefronts_ideal)
    return float(replays[random & (code.result_of(loaded_values.look_ups) > 0)].sum()) if random.any() else 0.0


@instruction_quantity("way")
def worst_bank_conflict(code: Code, wavefronts: Column, wavefronts_ideal: Column) -> float:
    """Wavefronts per ideal wavefront of the shared-memory access with the most replays."""
    accesses = (wavefronts_ideal > 0) & of_class(code, opcode_classes.is_shared_access)
    ways = wavefronts[accesses] / wavefronts_ideal[accesses]
    return float(ways.max()) if len(ways) else 0.0


@instruction_quantity("thread/inst")
def conflict_lanes(wavefronts: Column, wavefronts_ideal: Column, active_threads: Column, executions: Column) -> float:
    """Active threads of an average shared-memory access that is replayed."""
    replayed = wavefronts > wavefronts_ideal
    return float(active_threads[replayed].sum() / executions[replayed].sum()) if replayed.any() else 0.0


@instruction_quantity("share")
def one_bank_share(wavefronts: Column, wavefronts_ideal: Column, active_threads: Column) -> float:
    """The share of the replays of shared memory in accesses all of whose active threads meet in one bank.

    A wavefront for each thread means that neighbouring ones are apart by a multiple of all banks, as in a column.
    """
    replays = np.maximum(0, wavefronts - wavefronts_ideal)
    return float(replays[wavefronts >= active_threads].sum() / replays.sum()) if replays.any() else 0.0


@instruction_quantity("byte/thread")
def bytes_in_flight(code: Code, executions: Column) -> float:
    """Bytes that a thread has requested from global memory when it starts to wait, averaged over its waits."""
    return _average_size(load_batches(code), executions)


@instruction_quantity("byte/thread")
def bytes_in_flight_without_slow_paths(code: Code, executions: Column) -> float:
    """Bytes in flight of a thread if the branches of precise functions did not keep independent loads apart."""
    return _average_size(batches_without_slow_paths(code), executions)


def _average_size(batches: Sequence[LoadBatch], executions: Column) -> float:
    count = sum(executions[start] for start, _ in batches)
    return float(sum(executions[start] * size for start, size in batches) / count) if count else 0.0


@instruction_quantity("inst")
def waits_for_loads(code: Code, executions: Column) -> float:
    """How often warps wait for global loads: once for each batch of loads in flight together."""
    return float(sum(executions[start] for start, _ in load_batches(code)))


@instruction_quantity("inst")
def most_executed_load(code: Code, executions: Column) -> float:
    """Executions of the global load that is executed most often."""
    loads = executions[of_class(code, opcode_classes.is_global_load)]
    return float(loads.max()) if len(loads) else 0.0


@instruction_quantity("thread/inst")
def load_lanes(code: Code, active_threads: Column, executions: Column) -> float:
    """Active threads of an average global load."""
    loads = total(code, opcode_classes.is_global_load, executions)
    return total(code, opcode_classes.is_global_load, active_threads) / loads if loads else float(_WARP)


@instruction_quantity("inst")
def half_warp_loads(code: Code, executions: Column, active_threads: Column) -> float:
    """Global loads that half of a warp's threads execute."""
    halves = np.abs(active_threads - _WARP / 2 * executions) <= _NEARLY * executions
    return float(executions[halves & of_class(code, opcode_classes.is_global_load)].sum())


@instruction_quantity("inst")
def gathered_loads(code: Code, executions: Column) -> float:
    """Global loads whose address comes from another load's value."""
    return weighted(code, global_loads.gathered_loads, executions)


@instruction_quantity("inst")
def regathered_loads(code: Code, executions: Column) -> float:
    """Gathered loads whose index an earlier load used: another field of the same record."""
    return weighted(code, global_loads.regathered_loads, executions)


@instruction_quantity("inst")
def structure_loads(code: Code, executions: Column) -> float:
    """Global loads of a part of an element, such as a field of a structure in an array."""
    return weighted(code, address.structure_loads, executions)


@instruction_quantity("inst")
def window_loads(code: Code, executions: Column) -> float:
    """Loads of consecutive elements, as of a sliding window, that the neighbouring thread loads as well."""
    return weighted(code, address.window_loads, executions)


@instruction_quantity("inst")
def chased_loads(code: Code, executions: Column) -> float:
    """Global loads whose address depends on earlier loads, or on the same load an iteration before."""
    return weighted(code, global_loads.chased_loads, executions)


@instruction_quantity("inst")
def reloads(code: Code, executions: Column) -> float:
    """Global loads in a loop that stores, from an address that the loop does not change."""
    return weighted(code, global_loads.reloads, executions)


@instruction_quantity("inst")
def uniform_loads(code: Code, executions: Column) -> float:
    """Global loads from a thread-invariant address, except reloads that a store in the loop forces."""
    return weighted(code, global_loads.uniform_loads, executions)


@instruction_quantity("inst")
def narrow_loads(code: Code, executions: Column) -> float:
    """Global loads of one or two bytes per thread."""
    return weighted(code, instruction_mix.narrow_loads, executions)


@instruction_quantity("inst")
def loads_after_stores(code: Code, executions: Column) -> float:
    """Global loads after a global store, which may not move before it where pointers alias."""
    return weighted(code, instruction_mix.loads_after_stores, executions)


@instruction_quantity("inst")
def float_coordinates(code: Code, executions: Column) -> float:
    """Global loads whose address was computed in floating point, such as image coordinates."""
    return weighted(code, loaded_values.float_coordinates, executions)


@instruction_quantity("sector")
def sectors_invariant_in_x(code: Code, sectors: Column) -> float:
    """Sectors of global loads whose addresses are the same in all blocks along the grid's x axis."""
    return float(loads_invariant_along(code, "x") @ sectors)


@instruction_quantity("sector")
def sectors_invariant_in_y(code: Code, sectors: Column) -> float:
    """Sectors of global loads whose addresses are the same in all blocks along the grid's y axis."""
    return float(loads_invariant_along(code, "y") @ sectors)


@instruction_quantity("sector")
def sectors_invariant_in_z(code: Code, sectors: Column) -> float:
    """Sectors of global loads whose addresses are the same in all blocks along the grid's z axis."""
    return float(loads_invariant_along(code, "z") @ sectors)


@instruction_quantity("inst")
def repeated_pass_loads(code: Code, executions: Column, places: Sequence[Place]) -> float:
    """Global loads of a pass over data that an earlier pass has loaded."""
    return float(executions[repeated_pass_loads_of(code, executions, places)].sum())


@instruction_quantity("sector")
def repeated_pass_sectors(code: Code, executions: Column, sectors: Column, places: Sequence[Place]) -> float:
    """Sectors of global loads of a pass over data that an earlier pass has loaded."""
    return float(sectors[repeated_pass_loads_of(code, executions, places)].sum())


@instruction_quantity("inst")
def fusible_pass_loads(code: Code, executions: Column, places: Sequence[Place]) -> float:
    """Global loads of a pass that could be joined with an earlier pass over the same data."""
    return float(executions[fusible_pass_loads_of(code, executions, places)].sum())


@instruction_quantity("sector")
def fusible_pass_sectors(code: Code, executions: Column, sectors: Column, places: Sequence[Place]) -> float:
    """Sectors of global loads of a pass that could be joined with an earlier pass over the same data."""
    return float(sectors[fusible_pass_loads_of(code, executions, places)].sum())


@instruction_quantity("inst")
def split_accesses(code: Code, executions: Column, sectors: Column) -> float:
    """Global accesses that wider accesses would save."""
    return float(address.saved_by_wider(code, executions, sectors) @ executions)


@instruction_quantity("sector")
def split_sectors(code: Code, executions: Column, sectors: Column) -> float:
    """Sectors that wider global accesses would save."""
    return float(address.saved_by_wider(code, executions, sectors) @ sectors)


@instruction_quantity("request")
def split_tag_requests(code: Code, executions: Column, sectors: Column, tag_requests: Column) -> float:
    """Passes through the tag stage of L1 that wider global accesses would save."""
    return float(address.saved_by_wider(code, executions, sectors) @ tag_requests)


@quantity("wavefront")
def l1_wavefronts(l1_data_pct: Column, sm_cycles: Column) -> Column:
    """Wavefronts that the data stage of L1 handled: its use times its cycles, one for each cycle."""
    return l1_data_pct / 100 * sm_cycles


@quantity("request")
def lsu_requests(lsu_pct: Column, sm_cycles: Column) -> Column:
    """Requests that the load/store units handled: their use times their cycles, one for each cycle."""
    return lsu_pct / 100 * sm_cycles


@quantity("request")
def constant_requests(constant_pct: Column, sm_cycles: Column) -> Column:
    """Requests that the constant caches handled: their use times their cycles, one for each cycle."""
    return constant_pct / 100 * sm_cycles


@quantity("byte")
def dram_bytes(dram_bytes_read: Column, dram_bytes_written: Column) -> Column:
    """Bytes read from device memory and written to it."""
    return dram_bytes_read + dram_bytes_written


@quantity("busiest slice over average")
def slice_imbalance(l2_sectors_max: Column, l2_sectors_mean: Column, dram_pct: Column) -> Column:
    """Sectors of the busiest L2 slice over the average of all slices; where they are missing, the most that it can be.

    Each slice serves its own part of device memory: where memory is busy for 80 % of the time on average, none of its
    parts is 1.25 times as busy. A bound of 1.5 and more says nothing, and the value is unknown.
    """
    bound = 100 / dram_pct
    return np.where(
        np.isnan(l2_sectors_max / l2_sectors_mean) & (bound < _BOUND), bound, l2_sectors_max / l2_sectors_mean
    )


@quantity("share")
def l1_miss_share(l1_load_hit_pct: Column) -> Column:
    """The share of the sectors of global loads that L1 does not hold; below 0 where ncu's hit rate is above 100 %."""
    return 1 - l1_load_hit_pct / 100


@quantity("sector/inst")
def sectors_per_load(load_sectors: Column, load_requests: Column) -> Column:
    """Sectors that an average global load touches."""
    return load_sectors / load_requests


@quantity("wavefront/inst")
def shared_wavefronts_per_load(shared_wavefronts: Column, load_requests: Column) -> Column:
    """Wavefronts of shared memory per global load."""
    return shared_wavefronts / load_requests


@quantity("share")
def excess_load_share(load_sectors: Column, load_sectors_ideal: Column) -> Column:
    """The share of the sectors of global loads that their bytes do not need."""
    return 1 - load_sectors_ideal / load_sectors


@quantity("sector/inst")
def excess_sectors_per_load(load_sectors: Column, load_sectors_ideal: Column, load_requests: Column) -> Column:
    """Sectors of an average global load that its bytes do not need."""
    return (load_sectors - load_sectors_ideal) / load_requests


@quantity("sector")
def excess_store_sectors(store_sectors: Column, store_sectors_ideal: Column) -> Column:
    """Sectors of global stores that their bytes do not need."""
    return store_sectors - store_sectors_ideal


@quantity("request")
def excess_load_tag_requests(load_tag_requests: Column, load_sectors_ideal: Column) -> Column:
    """Passes of global loads through the tag stage of L1 beyond one for each full line of 128 bytes."""
    return load_tag_requests - np.minimum(load_tag_requests, load_sectors_ideal / _SECTORS_OF_A_LINE)


@quantity("sector")
def load_sectors_beyond_l1(load_sectors: Column, load_sectors_ideal: Column, l1_miss_share: Column) -> Column:
    """Sectors of global loads that L1 does not hold, at least those that their bytes need."""
    return np.maximum(load_sectors_ideal, load_sectors * l1_miss_share)


@quantity("sector")
def load_sectors_held_by_l1(load_sectors: Column, l1_load_hit_pct: Column) -> Column:
    """Sectors of global loads that L1 holds."""
    return l1_load_hit_pct / 100 * load_sectors


@quantity("sector")
def global_sectors_with_ideal_loads(global_sectors: Column, load_sectors: Column, load_sectors_ideal: Column) -> Column:
    """Sectors of all global accesses, were each load to touch only what its bytes need."""
    return global_sectors - load_sectors + load_sectors_ideal


@quantity("byte/thread")
def bytes_in_flight_beyond_l1(
    bytes_in_flight: Column, load_sectors: Column, load_sectors_ideal: Column, l1_miss_share: Column
) -> Column:
    """Bytes in flight of a thread that come from L2 or device memory, with the excess sectors of scattered loads."""
    return bytes_in_flight * np.maximum(1, load_sectors / load_sectors_ideal / _NEARLY_COALESCED) * l1_miss_share


@quantity("byte/thread")
def resident_bytes_in_flight(bytes_in_flight: Column, theoretical_occupancy_pct: Column) -> Column:
    """Bytes in flight of a thread times the theoretical occupancy: what each thread slot of the GPU asks for."""
    return bytes_in_flight * theoretical_occupancy_pct / 100


@quantity("share")
def float_coordinate_share(float_coordinates: Column, load_requests: Column) -> Column:
    """The share of global loads whose address was computed in floating point."""
    return float_coordinates / load_requests


@quantity("thread/sector")
def atomic_lanes_per_sector(atomic_lanes: Column, atomic_sectors: Column) -> Column:
    """Threads of a warp whose atomics meet in one sector; 0 without atomics."""
    return np.where(atomic_sectors == 0, 0.0, atomic_lanes / atomic_sectors)


@quantity("thread")
def unmerged_lanes(atomic_lanes: Column, merging_lanes: Column) -> Column:
    """Threads that execute atomics in global memory which merge no copy of a block."""
    return atomic_lanes - merging_lanes


@quantity("share")
def one_address_waits(
    one_address_lanes: Column, atomics: Column, stall_lg_throttle: Column, stall_drain: Column
) -> Column:
    """Warp samples that wait for the queue of memory, where most lanes of warps add to one address; 0 elsewhere.

    The address of these atomics is the same in all threads of a block, and on average more than half of the lanes of a
    warp take part. The L2 cache executes them one by one, and the queue of the load/store units fills with them.
    """
    waits, lanes = stall_lg_throttle + stall_drain, one_address_lanes - _WARP / 2 * atomics
    return np.where(lanes > 0, waits, 0 * (waits + lanes))  # unknown lanes or waits stay unknown


@quantity("share")
def global_share_of_l2(global_sectors: Column, l2_sectors: Column) -> Column:
    """Sectors of global accesses per sector of L2, at most 1: what local memory leaves when it goes."""
    return np.minimum(1, global_sectors / l2_sectors)


@quantity("share")
def global_share_of_dram(global_sectors: Column, dram_bytes: Column) -> Column:
    """Bytes of global accesses per byte of device memory, at most 1: what local memory leaves when it goes."""
    return np.minimum(1, _SECTOR * global_sectors / np.maximum(1, dram_bytes))


@quantity("wavefront")
def other_l1_wavefronts(
    l1_wavefronts: Column, all_shared_wavefronts_ideal: Column, load_sectors: Column, load_sectors_ideal: Column
) -> Column:
    """Wavefronts of L1, without those of shared memory, that a tile in registers leaves.

    Coalesced loads of tiles shrink with the tile's reuse; scattered ones stay.
    """
    scattered = load_sectors > _NEARLY_COALESCED * load_sectors_ideal
    return np.maximum(0, l1_wavefronts - all_shared_wavefronts_ideal) * np.where(scattered, 1, _OF_LARGER_TILES)
