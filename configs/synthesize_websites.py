"""New tasks on real websites, each with a check of the site's state and a recorded solution that passes it.

Commands:
  ./launch/websites.sh --all                     # installs the applications, once
  ./launch/local.sh synthesize_websites
  ./launch/local.sh synthesize_websites --config.sites=fossil,trac --config.tasks=12
  ./launch/local.sh synthesize_websites --config.readmit=tars_jax/tasks/websites/synthesized.jsonl   # tasks made anew
  ./launch/local.sh synthesize_websites --config.reword=tars_jax/tasks/websites/synthesized.jsonl    # in today's words
  ./launch/local.sh synthesize_websites --config.helper=https://somewhere/v1 --config.model=NAME
  ./launch/local.sh synthesize_websites --config.sites= --config.addresses=ADDRESSES.txt     # sorts a list of addresses

It leaves tasks.jsonl, report.html and table.md in the run's folder; docs/websites.md has what came out here.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "sites": "installed",  # names of websites, or all that are installed
            "readmit": "",  # a file of tasks with solutions: they are checked anew, and nothing is explored
            "reword": "",  # a file of tasks that are only said in the words that they would be composed in now
            "play": True,  # accepted tasks are played in the environment website_app, and stay if that rewards them
            "held_out": "fossil,wagtail",  # sites whose tasks are for evaluation alone
            "at_once": 1,  # sites that are worked on side by side
            "content_seed": 0,  # of what the sites are filled with
            "addresses": "",  # a file of addresses, one a line, that are sorted into what can be used and what not
            "may_change": False,  # tasks are made on kept addresses, too: forms are sent there
            "helper": "embedded",  # or the address of an OpenAI-compatible endpoint that sees pages and rewords
            "model": "",  # its name there
            "api_key_file": "",  # a file that holds the key alone
            "max_tokens": 600,  # of a model's answer
            "answer_s": 60.0,  # that a model has for it, seconds
            "tasks": 40,  # of a site, at most
            "each": 6,  # candidates of a function
            "merged": 10,  # of the tasks, those with something to be made first, at most
            "rows": 10,  # those that are two in a row, at most
            "questions": 6,  # those that end with an answer, at most
            "random": {
                "episodes": 2,  # of random play, whose end no check may pass
                "actions": 15,  # in each
            },
            "exploration": {
                "pages": 30,  # that are opened by links
                "alike": 3,  # whose addresses differ in numbers alone
                "depth": 4,  # links from the first page
                "presses": 12,  # of buttons that belong to no form
            },
            "site_s": 0.0,  # seconds after which no further candidate of a site is tried; 0: as long as it takes
            "page_s": 10.0,  # for one call on a page, seconds
            "seed": 0,
            "run": "",
        }
    )
