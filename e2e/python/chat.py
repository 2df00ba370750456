"""Chats through the proxy with the unmodified openai client.

usage: chat.py PROXY_URL DIRECT_URL

Tells the server, past the proxy, of each streamed event that it has, for the server sends the next one only then.
Prints what it was answered as JSON.
"""

import json
import sys
import urllib.request

import openai

MESSAGES = [{"role": "user", "content": "hello"}]


def main(proxy_url, direct_url):
    client = openai.OpenAI(base_url=f"{proxy_url}/v1", api_key="sk-never-recorded", timeout=60)
    whole = client.chat.completions.create(model="m", messages=MESSAGES)

    streamed = []
    for chunk in client.chat.completions.create(model="m", messages=MESSAGES, stream=True):
        streamed.append(chunk.choices[0].delta.content)
        urllib.request.urlopen(f"{direct_url}/got/{len(streamed)}", timeout=60).read()

    embedding = client.embeddings.create(model="m", input="hello")
    after_retries = client.chat.completions.create(model="flaky", messages=MESSAGES)
    answers = {
        "whole": whole.choices[0].message.content,
        "streamed": streamed,
        "embedding": embedding.data[0].embedding,
        "after_retries": after_retries.choices[0].message.content,
    }
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:3])
