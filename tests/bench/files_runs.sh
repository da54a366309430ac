# Whether the bench of files works: one round of little, each row there, with a peak. No time is judged.
#
#     sh files_runs.sh FILES CHAT-FILES

files=$1
shift
table=$("$files" -n 1 -m 1 -f 250 "$@")
status=$?
echo "$table"
[ $status -eq 0 ] || exit $status
for name in 'put, a new file' 'put, over a file' 'get, a new file' 'get, over a file' import; do
    echo "$table" | grep -Eq "^$name +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[1-9][0-9]*\$" || {
        echo "no row for $name"
        exit 1
    }
done
