import './styles/index.css'
import { render } from 'preact'
import { App } from './app/app.tsx'
import { readPreferences } from './app/preferences.ts'
import { startTexts } from './texts/texts.ts'

const preferences = readPreferences()
await startTexts(preferences.language)
render(<App />, document.getElementById('app')!)
