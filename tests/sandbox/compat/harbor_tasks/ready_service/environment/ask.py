import sys
import urllib.request

print(urllib.request.urlopen("http://127.0.0.1:8123" + sys.argv[1], timeout=5).read().decode())
