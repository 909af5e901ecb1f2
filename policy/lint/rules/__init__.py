"""One rule a file. The file's docstring is the rule's page; `check`, where there is one, finds it.

`CHECKED` are the files with a check, `ANALYSED` those whose check rests on the analysis of all rules together, which
takes about as long as all else; `READ` those of what is found while files and comments are read: most runs find nothing
there, and do without them.
"""

__all__ = ["ANALYSED", "CHECKED", "READ"]

ANALYSED = (
    "always_undetermined",
    "analysis_cut",
    "conflicting_rules",
    "never_decides",
    "never_served",
    "redundant_rule",
)
CHECKED = (
    "architecture_outside_range",
    "deprecated_runner",
    "dropped_variable",
    "duplicate_test",
    "expired",
    "expires_soon",
    "future_release",
    "missing_link",
    "missing_owner",
    "missing_reason",
    "no_release",
    "pin_without_review",
    "priority_on_require",
    "redundant_value",
    "release_gap",
    "rule_without_test",
    "secret_in_env",
    "switch_value",
    "test_of_no_rule",
    "test_out_of_reach",
    "test_without_decider",
    "unknown_architecture",
    "unknown_variable",
    "wrong_variable_value",
)
READ = (
    "conflicting_env",
    "contradiction",
    "duplicate_id",
    "duplicate_key",
    "empty_file",
    "empty_value",
    "file_too_large",
    "invalid_specifier",
    "key_not_scalar",
    "merge_key",
    "missing_field",
    "no_policy",
    "not_utf_8",
    "reserved_name",
    "several_documents",
    "suppression_without_reason",
    "switch_in_env",
    "too_deep",
    "too_many_nodes",
    "unknown_alias",
    "unknown_api_version",
    "unknown_code_in_suppression",
    "unknown_fact",
    "unknown_field",
    "unreadable_file",
    "unused_suppression",
    "wrong_kind",
    "wrong_name",
    "wrong_operator",
    "wrong_type",
    "wrong_value",
    "yaml_syntax",
    "yaml_tab",
    "yaml_tag",
)
