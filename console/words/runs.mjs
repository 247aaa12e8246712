// Words of runs that other screens use, too.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'runs.apply': 'Apply',
    'runs.filters': 'Filters',
    'runs.open_thread': 'Open thread',
    'runs.run': 'Run',
    'runs.runs': 'Runs',
    'runs.wait.authorization': 'Connection',
    'runs.wait.budget': 'Budget',
    'runs.wait.elicitation': 'Form',
    'runs.wait.question': 'Question',
    'runs.wait.tool_confirmation': 'Approval',
    'runs.wait.tool_results': 'Tool results',
  },
  {
    'runs.apply': '应用',
    'runs.filters': '筛选',
    'runs.open_thread': '打开对话',
    'runs.run': '运行',
    'runs.runs': '运行',
    'runs.wait.authorization': '连接',
    'runs.wait.budget': '预算',
    'runs.wait.elicitation': '表单',
    'runs.wait.question': '提问',
    'runs.wait.tool_confirmation': '批准',
    'runs.wait.tool_results': '工具结果',
  },
);
