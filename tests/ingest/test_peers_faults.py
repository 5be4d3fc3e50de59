"""What peers' users ask for most, and what peers' ingests do wrong: each with the tests that hold it here.

| asked for, or seen to go wrong | held by |
|---|---|
| a statement leads to chunk, camera, interval and its words | test_relations_carry_interval_camera_chunk_and_supporting_text |
| the same input twice gives the same graph | test_the_same_command_twice_changes_nothing, test_the_order_of_ingesting_does_not_show |
| two files of one name from two cameras are two documents | test_files_of_one_name_from_two_cameras_are_two_documents, test_tracks_of_two_files_that_go_by_one_name_stay_two |
| resolution is conservative, told, reversible | test_decisions_are_undone_in_any_order, test_undoing_in_any_order_ends_where_it_began |
| names as speech recognisers write them | test_a_misheard_name_is_joined_when_more_speaks_for_it_and_else_proposed |
| two people of one name stay two | test_two_people_of_one_name_stay_two_when_seen_in_two_places_at_once, test_a_name_that_two_people_bear_is_given_to_neither |
| candidates of all pairs | test_the_work_grows_with_the_number_and_not_with_its_square, test_few_among_many_ask_the_index |
| a crash loses nothing and does nothing twice | test_killed_anywhere_it_ends_the_same_and_asks_again_only_what_was_in_flight |
| a crash of what is derived asks nothing twice | test_a_derivation_that_is_cut_short_asks_again_for_nothing_that_was_answered |
| a full disk, a database or a model server that goes | test_a_disk_that_is_full_is_told_and_with_room_again_it_goes_on, test_a_database_that_goes_and_comes_back, test_a_model_server_that_goes_and_comes_back |
| delete removes all that hangs on a document, and nothing else | test_delete_removes_one_document_and_only_that, test_what_is_taken_away_again_does_not_show |
| a broken answer never kills an ingest | test_what_can_be_read_of_a_broken_reply_is_kept_and_it_still_counts_as_failed, test_what_can_be_repaired_is_no_failure |
| a truncated answer is split | test_a_truncated_reply_has_the_unit_split_until_it_is_whole_and_nothing_is_lost |
| 29.97 and variable rates without drift | test_29_97_keeps_exact_times |
| any script, file names with emoji and right-to-left names | test_names_are_found_in_any_script, test_right_to_left_script_and_emoji |
| cost is estimated before, counted by stage, capped | test_an_estimate_asks_nothing_and_comes_near, test_the_cap_ends_a_run_before_a_call_would_pass_it_and_a_higher_one_goes_on, test_what_summaries_cost_is_in_the_ledger_by_document_and_for_the_whole_graph |
"""  # noqa: E501 - a table

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_each_test_of_the_table_is_there() -> None:
    named = set(re.findall(r"test_\w+", __doc__ or ""))
    there = {
        name for path in TESTS.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }
    assert len(named) > 20 and named - there == set()
