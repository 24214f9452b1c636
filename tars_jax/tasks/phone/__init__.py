"""Tasks of a phone, judged by its settings and by what its apps have stored."""
