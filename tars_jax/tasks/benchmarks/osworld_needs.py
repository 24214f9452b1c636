"""What a task of OSWorld asks of where it is played, and why some cannot be played here."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.tasks.benchmarks.osworld_files import cloud_files, local_copy

# What desktop-env 1.0.2 has: a task that names another is of another version.
METRICS = frozenset("""
check_accessibility_tree check_auto_saving_time check_brightness_decrease_and_structure_sim check_config_status
check_contrast_increase_and_structure_sim check_csv check_direct_json_object check_enabled_experiments
check_file_exists check_file_exists_and_structure_sim check_font_size check_global_key_play_pause
check_gnome_favorite_apps check_green_background check_highlighted_words check_history_deleted
check_html_background_image check_image_file_size check_image_mirror check_image_size check_image_stretch_and_center
check_include_exclude check_italic_font_size_14 check_json check_json_keybindings check_json_settings check_left_panel
check_libre_locale check_line_number check_list check_moved_jpgs check_mp3_meta check_no_duplicates
check_one_instance_when_started_from_file check_page_number_colors check_palette_and_structure_sim check_pdf_pages
check_presenter_console_disable check_python_file_by_gold_file check_python_file_by_test_suite check_qt_bgcone
check_qt_max_volume check_qt_minimal_view check_qt_slider_colours check_saturation_increase_and_structure_sim
check_sharper check_slide_numbers_color check_slide_orientation_Portrait check_strikethrough check_structure_sim
check_structure_sim_resized check_tabstops check_text_enlarged check_textbox_on_leftside check_thunderbird_filter
check_thunderbird_folder check_thunderbird_prefs check_transition check_triangle_position compare_answer
compare_archive compare_audios compare_conference_city_in_order compare_config compare_contains_image compare_csv
compare_docx_files compare_docx_files_and_ignore_new_lines compare_docx_images compare_docx_lines compare_docx_tables
compare_epub compare_font_names compare_highlighted_text compare_htmls compare_image_list compare_image_text
compare_images compare_init_lines compare_insert_equation compare_line_spacing compare_pdf_images compare_pdfs
compare_pptx_files compare_python_pure_text compare_references compare_result_files compare_subscript_contains
compare_table compare_terminal_and_txt compare_text_file compare_time_in_speedtest_results compare_triangle_positions
compare_unique_train_records compare_videos compare_zip_files contains_page_break decrease_brightness diff_text_file
evaluate_alignment evaluate_colored_words_in_tables evaluate_conversion evaluate_presentation_fill_to_rgb_distance
evaluate_spacing evaluate_strike_through_last_paragraph exact_match file_contains find_default_font fuzzy_match
fuzzy_place_math get_unique_train_ids has_page_numbers_in_footers increase_saturation infeasible is_added_to_steam_cart
is_cookie_deleted is_expected_active_tab is_expected_active_tab_approximate is_expected_bookmarks
is_expected_installed_extensions is_expected_search_query is_expected_tabs is_expected_url_pattern_match
is_extension_installed is_first_line_centered is_gold_text_included_in_pdf is_in_list is_in_vm_clickboard
is_included_all_json_objects is_shortcut_on_desktop is_utc_0 is_vlc_fullscreen is_vlc_playing is_vlc_recordings_folder
literal_match match_in_list run_sqlite3
""".split())
GETTERS = frozenset("""
accessibility_tree active_tab_html_parse active_tab_info active_tab_url_parse active_url_from_accessTree
audio_in_slide background_image_in_slide bookmarks cache_file chrome_font_size chrome_language cloud_file
conference_city_in_order content_from_vm_file cookie_data data_delete_automacally default_search_engine
default_video_player enable_do_not_track enable_enhanced_safety_browsing enable_safe_browsing enabled_experiments
find_installed_extension_name find_unpacked_extension_path gimp_config_file googledrive_file
gotoRecreationPage_and_get_html_content history info_from_website list_directory macys_product_url_parse
new_startup_page number_of_search_results open_tabs_info page_info pdf_from_url profile_name replay rule
rule_relativeTime shortcuts_on_desktop time_diff_range url_dashPart url_path_parse vlc_config vlc_playing_info
vm_command_error vm_command_line vm_file vm_screen_size vm_terminal_output vm_wallpaper vm_window_size vscode_config
""".split())
# by a word in `related_apps`: what it is called, and the programs of which one serves
APPLICATIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "chrome": ("Chrome or Chromium", ("chromium", "google-chrome", "chromium-browser")),
    "browser": ("Chrome or Chromium", ("chromium", "google-chrome", "chromium-browser")),
    "gimp": ("GIMP", ("gimp",)),
    "libreoffice": ("LibreOffice", ("libreoffice", "soffice")),
    "calc": ("LibreOffice", ("libreoffice", "soffice")),
    "thunderbird": ("Thunderbird", ("thunderbird",)),
    "vlc": ("VLC", ("vlc",)),
    "vscode": ("VS Code, which Debian does not have,", ("code",)),
    "vs_code": ("VS Code, which Debian does not have,", ("code",)),
}
BY_TREE = ("accessibility_tree", "active_url_from_accessTree", "active_tab_info", "active_tab_html_parse",
           "active_tab_url_parse", "url_dashPart", "url_path_parse", "vm_terminal_output")  # fmt: skip
ONLINE = ("info_from_website", "googledrive_file", "pdf_from_url", "gotoRecreationPage_and_get_html_content",
          "number_of_search_results", "page_info")  # fmt: skip
_LOCAL = re.compile(r"^(?:chrome|about|file|data):|^https?://(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)", re.I)
# What the words of a step or a scorer show that it needs, and no computer here has.
_SYSTEM = ((r"\btimedatectl\b", "systemd's clock"), (r"\bapt(?:-get)? install -?y? ?spotify", "a package archive"),
           (r"\bconda (?:list|install)", "conda from the internet"), (r"--install-extension\b", "VS Code's market"),
           (r"su - charles|check_password\.sh", "users besides the agent"))  # fmt: skip
# Whose words alone say it.
BY_ID: Mapping[str, str] = {
    "94d95f96-9699-4208-98ba-3c3119edf9c2": "an archive of packages on the internet",
    "bba3381f-b5eb-4439-bd9e-80c22218d5a7": "a website that is not there",
    "e1fc0df3-c8b9-4ee7-864c-d0b590d3aa56": "a website that is not there",
    "f8369178-fafe-40c2-adc4-b9b08a125456": "a website that is not there",
    "3c8f201a-009d-4bbe-8b65-a6f8b35bb57f": "a website that is not there",
    "69acbb55-d945-4927-a87b-8480e1a5bb7e": "a website that is not there",
    "26660ad1-6ebb-4f59-8cba-a8432dfe8d38": "a website that is not there",
    "121ba48f-9e17-48ce-9bc6-a4fb17a7ebba": "a website that is not there",
}


def left_out(record: Mapping[str, Any], domain: str, caches: Sequence[Path]) -> str:
    """Why a task cannot be played here, in one sentence; empty: it can."""
    evaluator = record["evaluator"]
    steps = [*(record.get("config") or []), *(evaluator.get("postconfig") or [])]
    getters = [each["type"] for part in ("result", "expected") for each in _listed(evaluator.get(part)) if each]
    metrics = [str(name) for name in _listed(evaluator["func"])]
    if unknown := [name for name in metrics if name not in METRICS] + [n for n in getters if n not in GETTERS]:
        return f"It is scored by {unknown[0]!r}, which desktop-env 1.0.2 does not have."
    if metrics == ["infeasible"] and not steps:
        return ""  # whoever sees no way says so, with or without the application
    for step in steps:
        if step["type"] in ("googledrive", "login"):
            return "It needs an account of Google Drive."
        for url in step["parameters"].get("urls_to_open", ()):
            if not _LOCAL.search(str(url)):
                return f"It needs a live website, {_site(url)}."
    if online := next((name for name in getters if name in ONLINE), ""):
        return f"It is scored by {online!r}, which asks a live website."
    if record["id"] in BY_ID:
        return f"It needs {BY_ID[record['id']]}."
    if tree := next((name for name in getters if name in BY_TREE), ""):
        return f"It is scored by {tree!r}, which reads an accessibility tree, and desktops here have none."
    files = cloud_files(record)
    if missing := [file for file in files if local_copy(file, record["id"], domain, caches) is None]:
        return f"{len(missing)} of its {len(files)} files must lie in cache/ beside the tasks; the first is {missing[0].name}."
    for application in record.get("related_apps") or ():
        for word, (title, programs) in APPLICATIONS.items():
            if str(application).startswith(word) and not any(shutil.which(program) for program in programs):
                return f"{title} is not installed."
    said = json.dumps([steps, evaluator], ensure_ascii=False)
    return next((f"It needs {what}." for pattern, what in _SYSTEM if re.search(pattern, said)), "")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _site(url: Any) -> str:
    return re.sub(r"^https?://", "", str(url)).partition("/")[0][:80]
