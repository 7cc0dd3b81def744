import type { ResponseOf } from '@parley/client'
import { type Signal, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { save } from '../ui/download.ts'
import { attempt } from '../ui/problems.ts'

type ExportState = ResponseOf<'POST /admin/exports'>
const pauseMs = 1_000

/** The last export of this page. It is kept while the person looks at other views. */
const exports = new WeakMap<Workspace, Signal<ExportState | null>>()
function lastExport(workspace: Workspace) {
  const known = exports.get(workspace) ?? signal<ExportState | null>(null)
  exports.set(workspace, known)
  return known
}

/** The export of all data of the server as one file, which the worker creates. */
export function Export({ workspace }: { workspace: Workspace }) {
  const state = lastExport(workspace)
  const { client } = workspace
  const current = state.value
  const isBusy = current?.state === 'waiting' || current?.state === 'running'

  useEffect(() => {
    if (!isBusy) return
    const timer = setInterval(async () => {
      const next = await attempt(client.request('GET /admin/exports/:exportId', { params: { exportId: current!.id } }))
      if (next) state.value = next
    }, pauseMs)
    return () => clearInterval(timer)
  }, [isBusy, current?.id])

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
        <button
          type="button"
          class="button primary"
          disabled={isBusy}
          onClick={() =>
            void attempt(client.request('POST /admin/exports')).then((begun) => {
              if (begun) state.value = begun
            })
          }
        >
          {t('Export')}
        </button>
      </p>
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
      {current?.state === 'ready' && (
        <a class="button" href={`/admin/exports/${current.id}/download`} onClick={download}>
          {t('Download')}
        </a>
      )}
    </>
  )
}
