"""The same prompts under both model runners, each in a process of its own: are the answers and the speed the same?"""
