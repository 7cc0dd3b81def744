import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { forgetFailures, type Part } from './part.ts'
import type { Workspace } from './workspace.ts'

export type PageContent = ComponentType<{ workspace: Workspace }>

interface PageProps {
  workspace: Workspace
  name: string
  content: Part<PageContent>
  /** Above the content, such as links to other pages. */
  children?: ComponentChildren
}

/** A page that is not a channel, such as the preferences. It shows its heading immediately, and its content when it is loaded. */
export function Page({ workspace, name, content: Content, children }: PageProps) {
  const isReady = workspace.isReady.value
  return (
    <main class="main" aria-busy={!isReady || Content === 'loading'}>
      <header class="main-head">
        <h1>{name}</h1>
      </header>
      {children}
      <div class="page">
        {Content === 'failed' && <NotLoaded />}
        {typeof Content !== 'string' && isReady && <Content workspace={workspace} />}
      </div>
    </main>
  )
}

/** Shown instead of a part of the page that could not be loaded. The part is loaded again when it is opened again. */
export function NotLoaded() {
  useEffect(() => forgetFailures, [])
  return (
    <div class="alert" role="alert">
      <span>{t('This part of the page could not be loaded.')}</span>
      <button type="button" class="link-button" onClick={() => location.reload()}>
        {t('Reload')}
      </button>
    </div>
  )
}
