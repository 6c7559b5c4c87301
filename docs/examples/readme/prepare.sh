# The same model in several places, and a repository with a remote branch, for `--changed-since`.
mkdir src
cp model.py src
cp model.py package
git init --quiet
git add .
git -c user.name=example -c user.email=example@example.com commit --quiet --message=all
git update-ref refs/remotes/origin/main HEAD
