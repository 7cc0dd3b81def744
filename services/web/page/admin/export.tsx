import { type Client, RequestFailed, type ResponseOf } from '@parley/client'
import { useEffect } from 'preact/hooks'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { save } from '../ui/download.ts'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'

type ExportState = ResponseOf<'GET /admin/exports/:exportId'>
const pauseMs = 1_000

/** The export of all data of the server as one file, which the worker creates. It shows the person's last export. */
export function Export({ workspace }: { workspace: Workspace }) {
  const { client } = workspace
  const data = useLastExport(workspace)
  const { fetched: state } = data
  const current = state.value
  const isBusy = isUnfinished(current)

  async function download(event: MouseEvent) {
    event.preventDefault()
    event.stopPropagation()
    const bytes = await attempt(
      client.request('GET /admin/exports/:exportId/download', { params: { exportId: current!.id } }),
    )
    if (bytes !== undefined) save(new Blob([bytes]), 'parley-export.json.gz')
  }

  return (
    <>
      <p>
        {t(
          'All people, channels, messages and direct messages in one file, without secrets and without the bytes of files.',
        )}
      </p>
      <p>
        <RequestButton
          class="button primary"
          disabled={isBusy}
          onRequest={() =>
            attempt(client.request('POST /admin/exports')).then((begun) => {
              if (begun) state.value = begun
            })
          }
        >
          {t('Export')}
        </RequestButton>
      </p>
      <NotFetched of={data} />
      {current && <p class="quiet">{t('Export of {when}', { when: dateTimeOf(current.createdAt) })}</p>}
      {isBusy && (
        <progress
          aria-label={t('Export')}
          max={current.progress.total ?? 1}
          {...(current.progress.total !== null && { value: current.progress.records })}
        />
      )}
      {current?.state === 'failed' && (
        <p class="alert" role="alert">
          {t('The export failed. Please try again')}
        </p>
      )}
      <p role="status">
        {current?.state === 'ready' && (
          <a class="button" href={`/admin/exports/${current.id}/download`} onClick={download}>
            {t('Download')}
          </a>
        )}
      </p>
    </>
  )
}

const isUnfinished = (one: ExportState | null | undefined): one is ExportState =>
  one?.state === 'waiting' || one?.state === 'running'

/** The person's last export, or null. It is fetched again until it is finished. */
function useLastExport({ client, myId }: Workspace) {
  const data = useFetched(async (): Promise<ExportState | null> => {
    const last = await findLast(client, myId)
    // The person may have begun another export meanwhile.
    return state.value ?? last
  })
  const { fetched: state } = data
  const current = state.value
  const isBusy = isUnfinished(current)

  useEffect(() => {
    if (!isBusy) return
    let timer = setTimeout(poll, pauseMs)
    let hasEnded = false
    // One request at a time, because a late response would show an earlier state.
    async function poll() {
      const next = await attempt(client.request('GET /admin/exports/:exportId', { params: { exportId: current!.id } }))
      if (hasEnded) return
      if (next) state.value = next
      timer = setTimeout(poll, pauseMs)
    }
    return () => {
      hasEnded = true
      clearTimeout(timer)
    }
  }, [isBusy, current?.id])
  return data
}

/** The person's last export, by the audit log. Null when there is none, or when it has expired. */
async function findLast(client: Client, actorId: string): Promise<ExportState | null> {
  const query = { action: 'export.create', actorId, limit: 1 }
  const [last] = (await client.request('GET /admin/audit-log', { query })).entries
  if (!last) return null
  try {
    return await client.request('GET /admin/exports/:exportId', { params: { exportId: last.targetId } })
  } catch (error) {
    if (error instanceof RequestFailed && error.status === 404) return null
    throw error
  }
}
