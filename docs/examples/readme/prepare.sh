# A repository with a remote branch, for `--changed-since`.
git init --quiet
git add .
git -c user.name=example -c user.email=example@example.com commit --quiet --message=all
git update-ref refs/remotes/origin/main HEAD
