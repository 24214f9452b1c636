"""A recording of a person at work becomes a reviewed data set: steps, words, thoughts, and a page to look at each step.

Command:  ./launch/local.sh annotate_recording --config.recording=REC

The page's address is printed once the voice has been listened to. Each change on it is on the disk at
once (RUN/annotation.json); "Write the data" leaves RUN/dataset, which `--config.annotation.datasets=RUN/dataset,` of
`flywheel` and `--config.demonstrations.datasets=RUN/dataset,` of others read. Ctrl-C ends it before that;
`--config.run=RUN --config.recording=REC` goes on where it was.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "recording": "",  # its folder, as `record` leaves it
            "task": "",  # what was to be done, where the recording does not say it or says it wrongly
            # hands that rest for so long, or a suspended computer, end a task, and the next one is a trajectory of its
            # own, as it is after "the next task is to ..."; 0: what is said alone
            "rest_minutes": 10.0,
            "review": True,  # False: the data set is written as it is, and says that nobody has looked
            # embedded: a small model of English, which runs here; none: nobody listens; or the address of an endpoint
            # of OpenAI's API, http://HOST:PORT/v1, which gets the voice
            "speech": "embedded",
            "speech_model": "whisper-1",  # of an endpoint
            "key_variable": "OPENAI_API_KEY",  # the environment's variable that holds the key of an endpoint
            "host": "127.0.0.1",  # of the page: an address of this machine alone
            "port": 0,  # 0: any that is free
            "seed": 0,
            "run": "",
        }
    )
