# Whether the bench of checking works: one round for a few policies, each row there. No time is judged.
#
#     sh check_runs.sh CHECK FLOOR LANDLOCK-POLICY POLICY

check=$1
shift
table=$("$check" -n 1 -c 5 "$@")
status=$?
echo "$table"
[ $status -eq 0 ] || exit $status
for row in '1  floor, 1 policy' '5  floor' '1  landlock-policy, 1' '5  landlock-policy'; do
    echo "$table" | grep -Eq "^ +$row +[0-9.]+ +(-|-?[0-9.]+) +(-|-?[0-9.naif]+)\$" || {
        echo "no row for $row"
        exit 1
    }
done
