#!/bin/sh
# Makes a first trade with curl and openssl alone, as a reader of the specification would without any of this code:
# from the login of the operator to the fill and the balance afterwards.
#
# Environment: BASE, BRAND, ALGORITHM (Ed25519 or P-256), OPERATOR_EMAIL, OPERATOR_PASSWORD.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
scheme=$(printf '%s' "$BRAND" | tr '[:lower:]' '[:upper:]')-V3

field() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }
pem() { awk '{ printf "%s\\n", $0 }' "$1"; }
post() { curl -sS "$BASE$1" -H 'Content-Type: application/json' ${3:+-H "Authorization: Bearer $3"} -d "$2"; }

new_key() {
  case $ALGORITHM in
    Ed25519) openssl genpkey -algorithm ed25519 -out "$dir/$1.pem" ;;
    P-256) openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$dir/$1.pem" 2> /dev/null ;;
  esac
  openssl pkey -in "$dir/$1.pem" -pubout -out "$dir/$1.pub"
}

signature() {
  case $ALGORITHM in
    Ed25519) openssl pkeyutl -sign -rawin -inkey "$dir/$1.pem" -in "$dir/canonical" ;;
    P-256) openssl dgst -sha256 -sign "$dir/$1.pem" "$dir/canonical" ;;
  esac | openssl base64 -A
}

signed() { # signed KEY KEY_ID METHOD PATH QUERY BODY; QUERY is in canonical form
  timestamp=$(date +%s)000
  hash=$(printf '%s' "$6" | openssl dgst -sha256 | sed 's/.* //')
  printf '%s\n%s\n%s\n%s\n%s\n%s' "$scheme" "$timestamp" "$3" "$4" "$5" "$hash" > "$dir/canonical"
  curl -sS -X "$3" "$BASE$4${5:+?$5}" \
    -H "$BRAND-Key-Id: $2" -H "$BRAND-Timestamp: $timestamp" -H "$BRAND-Signature: $(signature "$1")" \
    ${6:+-H 'Content-Type: application/json' -d "$6"}
}

operator=$(post /v3/session "{\"email\":\"$OPERATOR_EMAIL\",\"password\":\"$OPERATOR_PASSWORD\"}" | field token)
event=$(post /admin/v1/events "{\"sport\":\"FOOTBALL\",\"league\":\"NFL\",\"type\":\"Game\",\
\"description\":\"Ants at Bees\",\"startsTs\":$(date +%s)000}" "$operator" | field eventId)
market=$(post /admin/v1/markets "{\"eventId\":\"$event\",\"marketType\":\"MONEY\",\"description\":\"Who wins\",\
\"voids\":\"PUSH\",\"outcomes\":[{\"name\":\"Ants\"},{\"name\":\"Bees\"}]}" "$operator")
ants=$(printf '%s' "$market" | sed 's/.*"outcomes":\[{"outcomeId":"\([^"]*\)".*/\1/')
bees=$(printf '%s' "$market" | field outcomeId)

enter() { # enter NAME: creates a trader with 10 dollars in a subaccount; the file NAME holds the id of its trading key
  login="{\"email\":\"$1.$ALGORITHM@example.com\",\"password\":\"a long password\"}"
  trader=$(post /v3/session/register "$login" | field traderId)
  post "/admin/v1/traders/$trader/kyc" '{"status":"VERIFIED"}' "$operator" > "$dir/answer"
  post "/admin/v1/traders/$trader/transactions" \
    '{"kind":"DEPOSIT","amount":"10","currency":"CASH","reason":"first deposit"}' "$operator" > "$dir/answer"
  session=$(post /v3/session "$login" | field token)
  post /v3/session/location '{"region":"US-NY"}' "$session" > "$dir/answer"
  new_key "$1-manage"
  new_key "$1"
  manage=$(post /v3/keys "{\"name\":\"mine\",\"algorithm\":\"$ALGORITHM\",\
\"publicKey\":\"$(pem "$dir/$1-manage.pub")\"}" "$session" | field keyId)
  signed "$1-manage" "$manage" POST /v3/account/subaccounts '' "{\"label\":\"main\",\"algorithm\":\"$ALGORITHM\",\
\"publicKey\":\"$(pem "$dir/$1.pub")\"}" | field keyId > "$dir/$1"
  signed "$1-manage" "$manage" POST "/v3/account/subaccounts/$(cat "$dir/$1")/transfer" '' \
    '{"direction":"fund","amount":"10"}' > "$dir/answer"
}

enter maker
enter taker
maker=$(cat "$dir/maker")
taker=$(cat "$dir/taker")
resting=$(signed maker "$maker" POST /v3/orders '' \
  "{\"outcomeId\":\"$ants\",\"price\":\"0.600\",\"qty\":20,\"tif\":\"GTC\"}" | field orderId)
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ "$(signed maker "$maker" GET "/v3/orders/$resting" '' '' | field status)" = OPEN ] && break
  sleep 0.2
done
taking=$(signed taker "$taker" POST /v3/orders '' \
  "{\"outcomeId\":\"$bees\",\"price\":\"0.450\",\"qty\":10,\"tif\":\"IOC\"}" | field orderId)
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ "$(signed taker "$taker" GET "/v3/orders/$taking" '' '' | field status)" = FILLED ] && break
  sleep 0.2
done
signed taker "$taker" GET /v3/portfolio/fills "limit=1&order=$taking" ''
echo
signed maker "$maker" GET /v3/portfolio/fills "limit=1&order=$resting" ''
echo
signed taker "$taker" GET "/v3/account/subaccounts/$taker/balance" '' ''
echo
