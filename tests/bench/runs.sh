# Whether the bench works: three rounds for six rules, each row there. No time is judged.
#
#     sh runs.sh LAUNCH FLOOR PROGRAM LANDLOCK-EXEC

launch=$1
shift
table=$("$launch" -p -r 6 -n 3 "$@")
status=$?
echo "$table"
[ $status -eq 0 ] || exit $status
for name in bare floor landlock-exec; do
    echo "$table" | grep -Eq "^ +6  $name +[0-9.]+ +-?[0-9.]+ +(-|-?[0-9.]+) +(-|[0-9]+) +3\$" || {
        echo "no row for $name"
        exit 1
    }
done
