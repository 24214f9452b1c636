# Starts the server where none answers, and ends well once it does.
python3 /srv/ask.py /index.txt && exit
setsid python3 -m http.server 8123 --bind 127.0.0.1 --directory /srv/www > /tmp/www.log 2>&1 &
exit 1
