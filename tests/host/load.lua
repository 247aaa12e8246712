-- For wrk: a steady load that tells of every answer but 200, and how many there were. Used by tests/host/run.
-- The header of the caller comes in the environment: TOKEN.

local token = os.getenv("TOKEN")
if token and token ~= "" then wrk.headers["Authorization"] = "Bearer " .. token end

local threads = {}
function setup(thread)
  thread:set("bad", 0)
  table.insert(threads, thread)
end

function delay() return 10 end

function response(status, headers, body)
  if status ~= 200 then
    bad = bad + 1
    if bad <= 20 then io.stderr:write(os.date("%X "), status, " ", string.sub(body, 1, 200), "\n") end
  end
end

function done(summary, latency, requests)
  local bad = 0
  for _, thread in ipairs(threads) do bad = bad + thread:get("bad") end
  local errors = summary.errors
  io.write(string.format("requests %d bad %d connect %d read %d write %d timeout %d slowest_ms %d\n", summary.requests,
    bad, errors.connect, errors.read, errors.write, errors.timeout, latency.max / 1000))
end
