import { t } from '../texts/texts.ts'
import { hasUpdate, takeUpdate } from './worker.ts'

/**
 * Says that a newer build of the page is there. The person chooses when it is loaded, so that they lose nothing that
 * they are doing.
 */
export const UpdateNotice = () =>
  hasUpdate.value ? (
    <div class="update-notice" role="status">
      <span>{t('A new version of this page is ready')}</span>
      <button type="button" class="button" onClick={takeUpdate}>
        {t('Reload')}
      </button>
    </div>
  ) : null
