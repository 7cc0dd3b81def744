import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest tests, which are partly covered by others. `TEST_LONG=1 npm test` runs them too. */
const long = [
  'test/backup/**',
  'test/client/cluster.test.ts',
  'test/deploy/image.test.ts',
  'test/faults/send-stream.test.ts',
  'test/hostile/cluster.test.ts',
  'test/proxy/**',
  'test/storage/upload-memory.test.ts',
  'test/web/other-browsers.test.ts',
  'test/web/scrolling.test.ts',
]

/**
 * Tests of rare conditions and of many details. They run after all others, in this order, and only as long as there is
 * time for them: on a slow machine, the whole takes longer than a run of CI may take.
 */
const further = [
  'test/journeys/restarts.test.ts',
  'test/web/account-changes.test.ts',
  'test/web/accessibility.test.ts',
  'test/hostile/solo.test.ts',
  'test/history/trial.test.ts',
  'test/sign-in/oauth.test.ts',
  'test/web/sign-in.test.ts',
  'test/web/everyday.test.ts',
  'test/web/features.test.ts',
  'test/web/web.test.ts',
  'test/web/message-list.test.ts',
  'test/web/messages.test.ts',
  'test/web/failures.test.ts',
  'test/web/sign-out.test.ts',
  'test/web/offline.test.ts',
  'test/web/hostile.test.ts',
  'test/web/missed-messages.test.ts',
  'test/web/late-responses.test.ts',
  'test/web/snapshot.test.ts',
  'test/web/storage.test.ts',
  'test/web/layout.test.ts',
  'test/web/emoji.test.ts',
  'test/web/first-run.test.ts',
  'test/web/update.test.ts',
  'test/web/outage.test.ts',
  'test/web/fonts.test.ts',
  'deploy/local/solo.test.ts',
  'deploy/local/cluster.test.ts',
  'test/upgrade/side-by-side.test.ts',
  'test/faults/dependency-away.test.ts',
  'test/exhaustion/exhaustion.test.ts',
  'libs/embedded/src/takeover.test.ts',
  'libs/embedded/src/postgres.test.ts',
  'libs/telemetry/test/preload.test.ts',
  'libs/database/src/servers.test.ts',
  'libs/blobs/src/blobs.test.ts',
  'libs/events/src/redis-topologies.test.ts',
  'services/integrations/src/subscriptions/changes-in-flight.test.ts',
  'services/integrations/src/subscriptions/deliverer.test.ts',
  'services/integrations/src/subscriptions/outcomes.test.ts',
  'services/integrations/src/subscriptions/subscriptions.test.ts',
  'services/realtime/src/delivery/resume.test.ts',
  'services/realtime/src/delivery/many-streams.test.ts',
  'services/realtime/src/presence/presence.test.ts',
  'services/realtime/src/outage.test.ts',
  'services/gateway/src/edge/slow-clients.test.ts',
  'services/directory/src/avatars/avatars.test.ts',
  'services/directory/src/scim/scim-races.test.ts',
  'services/worker/src/images/avatars.test.ts',
  'services/worker/src/images/thumbnails.test.ts',
  'services/worker/src/exports/compute-export.test.ts',
  'services/worker/src/clean-up/bytes-without-row.test.ts',
  'services/messaging/src/search/search-property.test.ts',
  'services/messaging/src/search/search-backlog.test.ts',
  'services/messaging/src/messages/any-text.test.ts',
  'libs/database/src/migrations-mentions.test.ts',
  'libs/events/src/query-cost.test.ts',
  'services/directory/src/query-cost.test.ts',
  'services/messaging/src/query-cost.test.ts',
  'services/realtime/src/query-cost.test.ts',
  'services/messaging/src/sending/query-cost.test.ts',
  'services/messaging/src/follows/query-cost.test.ts',
]

/**
 * The files that take long begin first: at the end one of them would keep a processor busy while the other has nothing
 * to do. Vitest begins with the largest files, which are not always the slowest.
 */
const slowest = [
  'test/journeys/cluster.test.ts',
  'test/web/contract.test.ts',
  'test/journeys/solo.test.ts',
  ...further,
  'services/messaging/src/search/search.test.ts',
]

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = slowest.findIndex((file) => moduleId.endsWith(`/${file}`))
      return found < 0 ? slowest.length : found
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

const root = import.meta.dirname

/** Each of them needs a process for itself: OpenTelemetry's SDK can be started once in a process. */
const alone = [
  ...globSync('{libs,services}/*/src/**/*.test.ts', { cwd: root }).filter((file) =>
    readFileSync(path.join(root, file), 'utf8').includes('startNodeSdk('),
  ),
  'test/telemetry/one-trace.test.ts',
]
const exclude = [...configDefaults.exclude, ...(process.env.TEST_LONG ? [] : long)]

/** Files that run at once. Servers and browsers of a file keep both processors busy, and each further worker imports the server again. */
const maxWorkers = 2

/**
 * Files of a project share their processes, so that the server is imported once for many files: importing it takes longer than most
 * of their tests.
 */
const project = (
  name: string,
  groupOrder: number,
  include: string[],
  more: { exclude?: string[]; runner?: string; provide?: { lastBeginning: number } },
) => ({
  extends: true as const,
  test: { name, include, exclude, isolate: false, maxWorkers, sequence: { groupOrder }, ...more },
})
const ofOtherProjects = [...exclude, ...alone, ...further]

/**
 * A file that would begin after these minutes is skipped, so that the last one ends before the run is stopped after 23
 * minutes (`.ci/run`). A file of the further tests may take five minutes, the others take less.
 */
const beginningWithin = (minutes: number) => ({
  runner: 'test/src/timed-tests.ts',
  provide: { lastBeginning: minutes * 60_000 },
})

export default defineConfig({
  test: {
    globalSetup: 'test/src/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 300_000,
    // A patience, not a goal: what is waited for comes at once but on a machine that is busy with something else.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    sequence: { sequencer: SlowestFirst },
    projects: [
      // They start processes of the server.
      project('processes', 0, ['{test,deploy}/**/*.test.ts'], { exclude: ofOtherProjects }),
      { extends: true, test: { name: 'alone', include: alone, maxWorkers, sequence: { groupOrder: 0 } } },
      // The server is in the process of the tests.
      project('one process', 1, ['{libs,services}/**/*.test.ts'], { exclude: ofOtherProjects, ...beginningWithin(19) }),
      project('further', 2, further, beginningWithin(14)),
    ],
  },
})
